//! The exports as C sees them; every handle and every address is a number here.

use std::ffi::{c_char, c_int, c_void};

/// Links the library.
use tenon_sdk_c as _;

/// A callback of a stream.
pub type Callback = extern "C" fn(usize, usize, *mut c_void, *mut c_int);

/// `tenon_options`.
#[repr(C)]
pub struct Options {
    pub size: usize,
    pub plugin_path: *const c_char,
    pub layers: *const c_char,
}

macro_rules! exports {
    ($($name:ident($($arg:ty),*);)*) => {
        unsafe extern "C" {
            $(pub fn $name($(_: $arg),*) -> c_int;)*
            pub fn tenon_error_text() -> *const c_char;
            pub fn tenon_status_string(status: c_int) -> *const c_char;
        }
    };
}

exports! {
    tenon_init(*const Options);
    tenon_shutdown();
    tenon_plugin_count(*mut usize);
    tenon_plugin_get(usize, *mut usize);
    tenon_plugin_find(*const c_char, *mut usize);
    tenon_plugin_get_info(usize, *mut c_void);
    tenon_plugin_open_device(usize, c_int, *mut usize);
    tenon_unload_plugin(usize);
    tenon_plugin_failures(*mut c_void, *mut usize);
    tenon_load_plugin(*const c_char, *const c_void, *mut usize);
    tenon_layers_enable(*const c_char);
    tenon_device_count(*const c_char, *mut usize);
    tenon_device_open(*const c_char, c_int, *mut usize);
    tenon_device_close(usize);
    tenon_device_make_current(usize);
    tenon_device_current(*mut usize);
    tenon_device_get_info(usize, *mut c_void);
    tenon_device_report(usize, *mut c_void, *mut usize);
    tenon_device_report_text(usize, *mut u8, *mut usize);
    tenon_device_report_json(usize, *mut u8, *mut usize);
    tenon_error_last(*mut c_void);
    tenon_pool_allocate(usize, usize, usize, *mut usize);
    tenon_pool_free(usize, usize, usize);
    tenon_pool_get_statistics(usize, *mut c_void);
    tenon_pool_trim(usize, usize);
    tenon_buffer_create(usize, usize, usize, *mut usize);
    tenon_buffer_destroy(usize, usize);
    tenon_buffer_address(usize, *mut usize);
    tenon_buffer_size(usize, *mut usize);
    tenon_buffer_device(usize, *mut usize);
    tenon_initialize(usize);
    tenon_finalize(usize);
    tenon_init_device(usize);
    tenon_deinit_device(usize);
    tenon_set_device(usize);
    tenon_get_device(usize, *mut usize);
    tenon_synchronize_device(usize);
    tenon_get_device_count(usize, *mut usize);
    tenon_get_runtime_version(usize, *mut usize);
    tenon_device_memory_allocate(usize, *mut usize, usize);
    tenon_device_memory_deallocate(usize, usize, usize);
    tenon_device_memory_set(usize, usize, u8, usize);
    tenon_host_memory_allocate(usize, *mut usize, usize);
    tenon_host_memory_deallocate(usize, usize, usize);
    tenon_unified_memory_allocate(usize, *mut usize, usize);
    tenon_unified_memory_deallocate(usize, usize, usize);
    tenon_memory_copy_h2d(usize, usize, usize, usize);
    tenon_memory_copy_d2h(usize, usize, usize, usize);
    tenon_memory_copy_d2d(usize, usize, usize, usize);
    tenon_memory_copy_p2p(usize, usize, usize, usize, usize);
    tenon_async_memory_copy_h2d(usize, usize, usize, usize, usize);
    tenon_async_memory_copy_d2h(usize, usize, usize, usize, usize);
    tenon_async_memory_copy_d2d(usize, usize, usize, usize, usize);
    tenon_async_memory_copy_p2p(usize, usize, usize, usize, usize, usize);
    tenon_async_memory_fill(usize, usize, usize, usize, usize, usize);
    tenon_device_memory_stats(usize, *mut usize, *mut usize);
    tenon_device_min_chunk_size(usize, *mut usize);
    tenon_device_max_alloc_size(usize, *mut usize);
    tenon_create_stream(usize, *mut usize);
    tenon_destroy_stream(usize, usize);
    tenon_query_stream(usize, usize, *mut bool);
    tenon_synchronize_stream(usize, usize);
    tenon_stream_add_callback(usize, usize, Option<Callback>, *mut c_void);
    tenon_stream_wait_event(usize, usize, usize);
    tenon_create_event(usize, *mut usize);
    tenon_destroy_event(usize, usize);
    tenon_record_event(usize, usize, usize);
    tenon_query_event(usize, usize, *mut bool);
    tenon_event_elapsed_time(usize, usize, usize, *mut i64);
    tenon_synchronize_event(usize, usize);
    tenon_init_blas_handle(usize, *mut usize, usize);
    tenon_destroy_blas_handle(usize, usize);
    tenon_blas_axpby(usize, usize, c_int, usize, f32, usize, f32, usize);
    tenon_cuda_stream_begin_capture(usize, usize, c_int);
    tenon_cuda_stream_end_capture(usize, usize, *mut usize);
    tenon_cuda_graph_instantiate(usize, *mut usize, *mut usize, *mut usize, *mut u8, usize);
    tenon_cuda_graph_launch(usize, usize, usize);
    tenon_cuda_graph_get_nodes(usize, usize, *mut usize, *mut usize);
    tenon_cuda_graph_destroy(usize, usize);
    tenon_cuda_graph_exec_destroy(usize, usize);
    tenon_xccl_group_start(usize);
    tenon_xccl_destroy_comm(usize, usize);
    tenon_get_max_grid_dim_size(usize, *mut u32);
}
