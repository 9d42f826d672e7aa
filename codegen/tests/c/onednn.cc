// The published declarations of oneDNN 3.2, as assertions about the generated header. `dnnl_dims_t` is a list of
// `int64_t`, `dnnl_dim_t` is `int64_t`, and the letters of `dnnl_sgemm` are `char`, which the spec has no name for.
#include <cstddef>
#include <type_traits>

#include "tenon/onednn.h"

#define FUNCTION(name, ...) static_assert(std::is_same<decltype(&name), __VA_ARGS__>::value, #name)
#define VALUE(name, value) static_assert((int)(name) == (value), #name)

FUNCTION(dnnl_convolution_backward_data_primitive_desc_create, dnnl_status_t (*)(
             dnnl_primitive_desc_t*, dnnl_engine_t, dnnl_alg_kind_t, const_dnnl_memory_desc_t,
             const_dnnl_memory_desc_t, const_dnnl_memory_desc_t, const int64_t*, const int64_t*, const int64_t*,
             const int64_t*, const_dnnl_primitive_desc_t, const_dnnl_primitive_attr_t));
FUNCTION(dnnl_convolution_backward_weights_primitive_desc_create, dnnl_status_t (*)(
             dnnl_primitive_desc_t*, dnnl_engine_t, dnnl_alg_kind_t, const_dnnl_memory_desc_t,
             const_dnnl_memory_desc_t, const_dnnl_memory_desc_t, const_dnnl_memory_desc_t, const int64_t*,
             const int64_t*, const int64_t*, const int64_t*, const_dnnl_primitive_desc_t,
             const_dnnl_primitive_attr_t));
FUNCTION(dnnl_convolution_forward_primitive_desc_create, dnnl_status_t (*)(
             dnnl_primitive_desc_t*, dnnl_engine_t, dnnl_prop_kind_t, dnnl_alg_kind_t, const_dnnl_memory_desc_t,
             const_dnnl_memory_desc_t, const_dnnl_memory_desc_t, const_dnnl_memory_desc_t, const int64_t*,
             const int64_t*, const int64_t*, const int64_t*, const_dnnl_primitive_attr_t));
FUNCTION(dnnl_engine_create, dnnl_status_t (*)(dnnl_engine_t*, dnnl_engine_kind_t, size_t));
FUNCTION(dnnl_engine_destroy, dnnl_status_t (*)(dnnl_engine_t));
FUNCTION(dnnl_matmul_primitive_desc_create, dnnl_status_t (*)(
             dnnl_primitive_desc_t*, dnnl_engine_t, const_dnnl_memory_desc_t, const_dnnl_memory_desc_t,
             const_dnnl_memory_desc_t, const_dnnl_memory_desc_t, const_dnnl_primitive_attr_t));
FUNCTION(dnnl_memory_create, dnnl_status_t (*)(dnnl_memory_t*, const_dnnl_memory_desc_t, dnnl_engine_t, void*));
FUNCTION(dnnl_memory_desc_clone, dnnl_status_t (*)(dnnl_memory_desc_t*, const_dnnl_memory_desc_t));
FUNCTION(dnnl_memory_desc_create_with_strides, dnnl_status_t (*)(
             dnnl_memory_desc_t*, int, const int64_t*, dnnl_data_type_t, const int64_t*));
FUNCTION(dnnl_memory_desc_create_with_tag, dnnl_status_t (*)(
             dnnl_memory_desc_t*, int, const int64_t*, dnnl_data_type_t, dnnl_format_tag_t));
FUNCTION(dnnl_memory_desc_destroy, dnnl_status_t (*)(dnnl_memory_desc_t));
FUNCTION(dnnl_memory_desc_equal, int (*)(const_dnnl_memory_desc_t, const_dnnl_memory_desc_t));
FUNCTION(dnnl_memory_desc_get_size, size_t (*)(const_dnnl_memory_desc_t));
FUNCTION(dnnl_memory_destroy, dnnl_status_t (*)(dnnl_memory_t));
FUNCTION(dnnl_primitive_attr_create, dnnl_status_t (*)(dnnl_primitive_attr_t*));
FUNCTION(dnnl_primitive_attr_destroy, dnnl_status_t (*)(dnnl_primitive_attr_t));
FUNCTION(dnnl_primitive_attr_set_scratchpad_mode, dnnl_status_t (*)(dnnl_primitive_attr_t, dnnl_scratchpad_mode_t));
FUNCTION(dnnl_primitive_create, dnnl_status_t (*)(dnnl_primitive_t*, const_dnnl_primitive_desc_t));
FUNCTION(dnnl_primitive_desc_destroy, dnnl_status_t (*)(dnnl_primitive_desc_t));
FUNCTION(dnnl_primitive_desc_query, dnnl_status_t (*)(const_dnnl_primitive_desc_t, dnnl_query_t, int, void*));
FUNCTION(dnnl_primitive_desc_query_md, const_dnnl_memory_desc_t (*)(const_dnnl_primitive_desc_t, dnnl_query_t, int));
FUNCTION(dnnl_primitive_destroy, dnnl_status_t (*)(dnnl_primitive_t));
FUNCTION(dnnl_primitive_execute, dnnl_status_t (*)(
             const_dnnl_primitive_t, dnnl_stream_t, int, const dnnl_exec_arg_t*));
FUNCTION(dnnl_reorder_primitive_desc_create, dnnl_status_t (*)(
             dnnl_primitive_desc_t*, const_dnnl_memory_desc_t, dnnl_engine_t, const_dnnl_memory_desc_t,
             dnnl_engine_t, const_dnnl_primitive_attr_t));
FUNCTION(dnnl_sgemm, dnnl_status_t (*)(
             int8_t, int8_t, int64_t, int64_t, int64_t, float, const float*, int64_t, const float*, int64_t, float,
             float*, int64_t));
FUNCTION(dnnl_stream_create, dnnl_status_t (*)(dnnl_stream_t*, dnnl_engine_t, unsigned));
FUNCTION(dnnl_stream_destroy, dnnl_status_t (*)(dnnl_stream_t));
FUNCTION(dnnl_version, const dnnl_version_t* (*)());

VALUE(dnnl_success, 0);
VALUE(dnnl_out_of_memory, 1);
VALUE(dnnl_invalid_arguments, 2);
VALUE(dnnl_unimplemented, 3);
VALUE(dnnl_last_impl_reached, 4);
VALUE(dnnl_runtime_error, 5);
VALUE(dnnl_not_required, 6);
VALUE(dnnl_any_engine, 0);
VALUE(dnnl_cpu, 1);
VALUE(dnnl_gpu, 2);
VALUE(dnnl_data_type_undef, 0);
VALUE(dnnl_f16, 1);
VALUE(dnnl_bf16, 2);
VALUE(dnnl_f32, 3);
VALUE(dnnl_s32, 4);
VALUE(dnnl_s8, 5);
VALUE(dnnl_u8, 6);
VALUE(dnnl_f64, 7);
VALUE(dnnl_format_tag_undef, 0);
VALUE(dnnl_format_tag_any, 1);
VALUE(dnnl_scratchpad_mode_library, 0);
VALUE(dnnl_scratchpad_mode_user, 1);
VALUE(dnnl_query_undef, 0);
VALUE(dnnl_query_impl_info_str, 8);
VALUE(dnnl_query_src_md, 129);
VALUE(dnnl_query_diff_src_md, 130);
VALUE(dnnl_query_weights_md, 131);
VALUE(dnnl_query_diff_weights_md, 132);
VALUE(dnnl_query_dst_md, 133);
VALUE(dnnl_query_diff_dst_md, 134);
VALUE(dnnl_query_scratchpad_md, 136);
VALUE(dnnl_prop_kind_undef, 0);
VALUE(dnnl_forward_training, 64);
VALUE(dnnl_forward_inference, 96);
VALUE(dnnl_alg_kind_undef, 0);
VALUE(dnnl_convolution_direct, 1);

static_assert(std::is_same<decltype(dnnl_version_t::major), int>::value, "major");
static_assert(offsetof(dnnl_version_t, hash) == 16, "hash");
static_assert(sizeof(dnnl_version_t) == 32, "dnnl_version_t");
static_assert(offsetof(dnnl_exec_arg_t, memory) == 8, "memory");
static_assert(sizeof(dnnl_exec_arg_t) == 16, "dnnl_exec_arg_t");
