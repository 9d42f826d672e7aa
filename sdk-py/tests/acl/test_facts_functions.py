"""All functions: module, number of arguments, and order of the results."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest

import acl

FUNCTIONS = {
    "acl": """
        finalize()r  finalize_reference()ir  get_version()iiir  get_soc_name()s  get_recent_err_msg()?
        app_log(is)-  float16_to_float(i)f  float_to_float16(f)i  data_type_size(i)i
        create_data_buffer(ii)i  destroy_data_buffer(i)r  get_data_buffer_addr(i)i  get_data_buffer_size(i)i
        get_data_buffer_size_v2(i)i  update_data_buffer(iii)r
        create_tensor_desc(ili)i  destroy_tensor_desc(i)-  get_tensor_desc_type(i)i  get_tensor_desc_format(i)i
        get_tensor_desc_size(i)i  get_tensor_desc_element_count(i)i  get_tensor_desc_num_dims(i)i
        get_tensor_desc_dim(ii)i  get_tensor_desc_dim_v2(ii)ir  get_tensor_desc_dim_range(iii)lr
        get_tensor_desc_name(i)s  set_tensor_desc_name(is)-  get_tensor_desc_by_index(ii)i
        get_tensor_desc_address(i)i  trans_tensor_desc_format(ii)ir  set_tensor_format(ii)r  set_tensor_shape(il)r
        set_tensor_storage_format(ii)r  set_tensor_storage_shape(il)r  set_tensor_origin_format(ii)r
        set_tensor_origin_shape(il)r  set_tensor_dynamic_input(is)r  set_tensor_const(iii)r
        set_tensor_place_ment(ii)r
        get_cann_attribute_list()lir  get_cann_attribute(i)ir  get_device_capability(ii)ir
        get_cann_version(i)dr  get_version_str(s)sr
    """,
    "acl.rt": """
        set_device(i)r  reset_device(i)r  reset_device_force(i)r  get_device()ir  get_device_count()ir
        get_run_mode()ir  set_ts_device(i)r  set_device_sat_mode(i)r  get_device_sat_mode()ir
        synchronize_device()r  synchronize_device_with_timeout(i)r  query_device_status(i)ir
        get_device_utilization_rate(i)dr  get_device_info(ii)ir  get_device_capability(ii)ir
        device_get_stream_priority_range()iir  device_task_abort(ii)r
        get_device_res_limit(ii)ir  set_device_res_limit(iii)r  reset_device_res_limit(i)r
        get_devices_topo(ii)ir  get_logic_dev_id_by_user_dev_id(i)ir  get_user_dev_id_by_logic_dev_id(i)ir
        get_logic_dev_id_by_phy_dev_id(i)ir  get_phy_dev_id_by_logic_dev_id(i)ir
        get_user_dev_id_by_phy_dev_id(i)ir  get_phy_dev_id_by_user_dev_id(i)ir
        device_get_uuid(i)dr  device_get_bare_tgid()ir  device_can_access_peer(ii)ir
        device_enable_peer_access(ii)r  device_disable_peer_access(i)r  device_peer_access_status(ii)ir
        device_set_limit(ii)r  device_get_limit(i)ir

        create_context(i)ir  destroy_context(i)r  set_context(i)r  get_context()ir
        ctx_get_current_default_stream()ir  ctx_set_sys_param_opt(ii)r  ctx_get_sys_param_opt(i)ir
        set_sys_param_opt(ii)r  get_sys_param_opt(i)ir  get_primary_ctx_state(i)iir
        get_overflow_status(iii)r  reset_overflow_status(i)r

        create_stream()ir  create_stream_with_config(ii)ir  destroy_stream(i)r  destroy_stream_force(i)r
        synchronize_stream(i)r  synchronize_stream_with_timeout(ii)r  stream_query(i)ir  stream_abort(i)r
        stream_get_id(i)ir  get_stream_available_num()ir  set_stream_failure_mode(ii)r
        set_stream_overflow_switch(ii)r  get_stream_overflow_switch(i)ir
        set_stream_attribute(iid)r  get_stream_attribute(ii)dr
        get_stream_res_limit(ii)ir  set_stream_res_limit(iii)r  reset_stream_res_limit(i)r
        use_stream_res_in_current_thread(i)r  unuse_stream_res_in_current_thread(i)r  get_res_in_current_thread(i)ir

        create_event()ir  create_event_with_flag(i)ir  create_event_ex_with_flag(i)ir  destroy_event(i)r
        record_event(ii)r  reset_event(ii)r  query_event(i)ir  query_event_status(i)ir
        query_event_wait_status(i)ir  synchronize_event(i)r  synchronize_event_with_timeout(ii)r
        event_elapsed_time(ii)fr  event_get_timestamp(i)ir  get_event_id(i)ir  get_event_avail_num()ir
        stream_wait_event(ii)r  set_op_wait_timeout(i)r

        subscribe_report(ii)r  unsubscribe_report(ii)r  launch_callback(coii)r  process_report(i)r

        malloc(ii)ir  malloc_align32(ii)ir  malloc_cached(ii)ir  free(i)r  malloc_host(i)ir  free_host(i)r
        memcpy(iiiii)r  memcpy_async(iiiiii)r  memcpy_async_with_condition(iiiiii)r
        memset(iiii)r  memset_async(iiiii)r  memcpy2d(iiiiiii)r  memcpy2d_async(iiiiiiii)r
        mem_flush(ii)r  mem_invalidate(ii)r  get_mem_info(i)iir  malloc_with_cfg(iid)ir
        malloc_host_with_cfg(id)ir  malloc_for_task_scheduler(iid)ir  pointer_get_attributes(i)dr
        host_register(iii)ir  host_register_v2(iii)r  host_get_device_pointer(ii)ir  host_unregister(i)r
        get_memcpy_desc_size(i)ir  set_memcpy_desc(iiiiii)ir  memcpy_async_with_desc(iii)r

        reserve_mem_address(iiii)ir  release_mem_address(i)r  malloc_physical(idi)ir  free_physical(i)r
        map_mem(iiiii)r  unmap_mem(i)r  mem_export_to_shareable_handle(iii)ir
        mem_set_pid_to_shareable_handle(il)r  mem_import_from_shareable_handle(ii)ir
        mem_get_allocation_granularity(di)ir  ipc_mem_get_export_key(iiii)sr  ipc_mem_set_import_pid(sl)r
        ipc_mem_import_by_key(si)ir  ipc_mem_close(s)r  value_write(iiii)r  value_wait(iiii)r

        create_notify(i)ir  destroy_notify(i)r  record_notify(ii)r  wait_and_reset_notify(iii)r
        get_notify_id(i)ir  notify_batch_reset(l)r  notify_get_export_key(iii)sr  notify_set_import_pid(il)r
        notify_import_by_key(si)ir

        get_thread_last_task_id()ir  reduce_async(iiiiiii)r  set_op_execute_time_out(i)r
        set_op_execute_timeout_v2(i)ir  get_op_timeout_interval()ir  get_op_execute_timeout()ir  cmo_async(iiii)r
        get_error_code_from_exception_info(i)i  get_task_id_from_exception_info(i)i
        get_stream_id_from_exception_info(i)i  get_thread_id_from_exception_info(i)i
        get_device_id_from_exception_info(i)i  peek_at_last_error(i)i  get_last_error(i)i
    """,
}
"""Functions as ``name(arguments)results``, one letter for each argument and result.

r a status, i a number, f a fraction, s a text, l a list, d a dict, c a function, o anything, ? a text or None, - None.
"""

LACKING = {
    "acl": "set_tensor_shape_range(il)r  set_tensor_value_range(il)r",
    "acl.rt": """
        allocator_create_desc()i  allocator_destroy_desc(i)r  allocator_set_obj_to_desc(ii)r
        allocator_set_alloc_func_to_desc(ic)r  allocator_set_free_func_to_desc(ic)r
        allocator_set_alloc_advise_func_to_desc(ic)r  allocator_set_get_addr_from_block_func_to_desc(ic)r
        allocator_register(ii)r  allocator_unregister(i)r
        binary_load(i)ir  binary_load_from_file(sl)ir  binary_load_from_data(iil)ir  binary_unload(i)r
        binary_get_function(is)ir  create_binary(ii)i  destroy_binary(i)r  launch_kernel(iiiii)r
        launch_kernel_with_config(iiilii)r  launch_kernel_with_host_args(iiiliil)r
        kernel_args_init(i)ir  kernel_args_init_by_user_mem(iiii)r  kernel_args_get_mem_size(ii)ir
        kernel_args_get_handle_mem_size(i)ir  kernel_args_append(iii)ir  kernel_args_append_place_holder(i)ir
        kernel_args_get_place_holder_buffer(iii)ir  kernel_args_para_update(iiii)r  kernel_args_finalize(i)r
        get_function_addr(i)iir  get_function_name(ii)sr  register_cpu_func(iss)ir
        set_group(i)r  get_group_count()ir  create_group_info()i  destroy_group_info(i)r  get_all_group_info(i)r
        get_group_info_detail(iii)lr  get_mem_uce_info(ii)lr  mem_uce_repair(il)r
        start_dump_args(is)r  stop_dump_args(i)r
    """,
}
"""Functions without a meaning on a device without a compiler. They exist and return an error code."""

OF_UTIL = {
    "numpy_to_ptr": 1,
    "numpy_contiguous_to_ptr": 1,
    "ptr_to_numpy": 3,
    "bytes_to_ptr": 1,
    "ptr_to_bytes": 2,
    "start_thread": 2,
    "stop_thread": 1,
}
"""Numbers of arguments of the functions of `acl.util`. Their results are tested in `test_util.py`."""

NOT_SUPPORTED = (200001, 207000)
ANSWERS_HANDLES = ("allocator_create_desc", "create_binary", "create_group_info")
"""Functions that return a handle and no status. Null means failure."""


def signatures(table: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    for module, functions in table.items():
        for function in functions.split():
            name, _, rest = function.partition("(")
            arguments, _, results = rest.partition(")")
            yield f"{module}.{name}", arguments, results


ALL = [*signatures(FUNCTIONS), *signatures(LACKING)]
LACKING_NAMES = [name for name, _, _ in signatures(LACKING)]
SAMPLES: dict[str, Any] = {"i": 0, "f": 0.0, "s": "", "l": [], "d": {}, "c": print, "o": None}
LETTERS = {int: "i", float: "f", str: "s", list: "l", dict: "d"}


def found(name: str) -> Any:
    """Returns the function from its imported module."""
    module, _, function = name.rpartition(".")
    return vars(sys.modules[module]).get(function) or getattr(sys.modules[module], function)


def samples(arguments: str) -> list[Any]:
    return [SAMPLES[letter] for letter in arguments]


def shape(result: Any) -> str:
    results = result if isinstance(result, tuple) else (result,)
    return "".join("-" if value is None else LETTERS[type(value)] for value in results)


@pytest.fixture
def afterwards() -> Iterator[None]:
    """Releases the objects that the sample calls have created."""
    acl.get_recent_err_msg()
    acl.rt.get_last_error(0)
    yield
    rt: Any = acl.rt
    rt.set_exception_info_callback(None)
    acl.init()
    assert acl.finalize() == 0


@pytest.mark.parametrize("has_context", [False, True], ids=["no context", "context"])
@pytest.mark.parametrize(("name", "arguments", "results"), ALL)
def test_returned_values(afterwards: None, name: str, arguments: str, results: str, has_context: bool) -> None:
    """The results have the same types and order on success and on failure. A failure leaves a message."""
    if has_context:
        assert acl.rt.set_device(0) == 0
    answer = found(name)(*samples(arguments))
    expected = results.replace("r", "i")
    assert shape(answer) == expected or (expected, shape(answer)) in {("?", "s"), ("?", "-")}
    ret = answer[-1] if isinstance(answer, tuple) else answer
    if results.endswith("r") and ret != 0:
        assert acl.get_recent_err_msg()
        assert acl.rt.peek_at_last_error(0) == ret or name in LACKING_NAMES


@pytest.mark.parametrize(("name", "arguments"), [(name, arguments) for name, arguments, _ in signatures(LACKING)])
def test_unsupported_functions_return_an_error_code(name: str, arguments: str) -> None:
    acl.get_recent_err_msg()
    # Null would be refused as null.
    answer = found(name)(*(64 if sample == 0 else sample for sample in samples(arguments)))
    if name.rpartition(".")[2] in ANSWERS_HANDLES:
        assert answer == 0
    else:
        assert (answer[-1] if isinstance(answer, tuple) else answer) in NOT_SUPPORTED
    assert acl.get_recent_err_msg()
    assert name.rpartition(".")[2] in dir(sys.modules[name.rpartition(".")[0]])


def plural(count: int) -> str:
    return "1 argument" if count == 1 else f"{count} arguments"


@pytest.mark.parametrize(
    ("name", "count"),
    [
        *((name, len(arguments)) for name, arguments, _ in ALL),
        *((f"acl.util.{name}", count) for name, count in OF_UTIL.items()),
        ("acl.rt.set_exception_info_callback", 1),
    ],
)
def test_wrong_number_of_arguments_is_an_error(name: str, count: int) -> None:
    function = found(name)
    for given in {max(count - 1, 0), count + 1} - {count}:
        with pytest.raises(TypeError) as caught:
            function(*[0] * given)
        assert str(caught.value) == f"function takes exactly {plural(count)} ({given} given)"
    with pytest.raises(TypeError):
        function(**{f"name_{number}": 0 for number in range(count or 1)})


def test_init_may_be_called_without_a_path() -> None:
    init: Any = acl.init
    with pytest.raises(TypeError) as caught:
        init("a", "b")
    assert str(caught.value) == "function takes at most 1 argument (2 given)"
    with pytest.raises(TypeError, match=r"^acl\.init args parse failed$"):
        init(5)


WRONG = {
    "i": (None, "0", 1.5, b"0", object()),
    "f": (None, "0"),
    "s": (None, 0, b""),
    "l": (None, 0, {}),
    "d": (0, []),
    "c": (None, 0),
}


@pytest.mark.parametrize(("name", "arguments"), [(name, arguments) for name, arguments, _ in ALL if arguments])
def test_arguments_of_other_types(name: str, arguments: str) -> None:
    """None is not a stream, and a text is not a number. The message contains the Python name of the function."""
    for place, letter in enumerate(arguments):
        for wrong in WRONG.get(letter, ()):
            given = samples(arguments)
            given[place] = wrong
            with pytest.raises(TypeError) as caught:
                found(name)(*given)
            assert str(caught.value) == ("parameter must be callable" if letter == "c" else f"{name} args parse failed")


def test_dicts_have_the_documented_keys() -> None:
    assert acl.rt.set_device(0) == 0
    memory, ret = acl.rt.malloc(64, 0)
    assert ret == 0
    attributes, ret = acl.rt.pointer_get_attributes(memory)
    assert (ret, set(attributes), set(attributes["location"])) == (0, {"location", "page_size", "rsv"}, {"id", "type"})
    assert isinstance(attributes["rsv"], list)
    usage, ret = acl.rt.get_device_utilization_rate(0)
    figures = ("cube_utilization", "vector_utilization", "aicpu_utilization", "memory_utilization")
    assert (ret, set(usage)) == (0, {*figures, "utilization_extend"})
    assert set(map(type, usage.values())) == {int}
    uuid, ret = acl.rt.device_get_uuid(0)
    assert (ret, set(uuid), len(uuid["bytes"])) == (0, {"bytes"}, 16)
    assert acl.rt.free(memory) == acl.rt.reset_device(0) == 0


def test_every_function_is_in_the_list_of_its_module() -> None:
    for name in chain((name for name, _, _ in ALL), ("acl.util." + name for name in OF_UTIL)):
        module, _, function = name.rpartition(".")
        assert function in dir(sys.modules[module])
