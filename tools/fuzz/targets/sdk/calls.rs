//! The calls that a program is made of.

use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};

use super::exports::*;
use super::{CALLED, Program, SUCCESS, count};

impl Program<'_> {
    /// Makes one call, as the input says.
    pub fn step(&mut self) {
        let (mut number, mut other, mut elapsed, mut yes) = (0_usize, 0_usize, 0_i64, false);
        let mut room = [0_u64; 64];
        let room = room.as_mut_ptr().cast::<c_void>();
        let choice = self.input.below(72);
        // SAFETY: handles and addresses of devices are looked up, which is what is tried here; memory of the host is
        // there, as long as is said, and lives until the library has ended; places can be written or are null.
        let status = unsafe {
            match choice {
                0..=2 => {
                    let device = self.device();
                    let size = self.input.size();
                    let out = self.out(&mut number);
                    let allocate = [
                        tenon_device_memory_allocate,
                        tenon_unified_memory_allocate,
                        tenon_host_memory_allocate,
                    ];
                    let status = allocate[choice](device, out, size);
                    if status == SUCCESS && choice == 2 {
                        self.pinned.push(number);
                    } else if status == SUCCESS {
                        self.memory.push(number);
                    }
                    status
                }
                3 => tenon_device_memory_deallocate(self.device(), self.memory(), self.input.size()),
                4 => tenon_unified_memory_deallocate(self.device(), self.memory(), self.input.size()),
                5 => tenon_host_memory_deallocate(
                    self.device(),
                    self.input.handle(&self.pinned.clone()),
                    self.input.size(),
                ),
                6 => tenon_device_memory_set(
                    self.device(),
                    self.memory(),
                    self.input.byte(),
                    self.input.size(),
                ),
                7..=9 => {
                    let (device, memory, (host, size)) = (self.device(), self.memory(), self.host());
                    match choice {
                        7 => tenon_memory_copy_h2d(device, memory, host, size),
                        8 => tenon_memory_copy_d2h(device, host, memory, size),
                        // Device memory in place of host memory, and the reverse.
                        _ => tenon_memory_copy_h2d(device, host, self.live(), size.min(16)),
                    }
                }
                10 => tenon_memory_copy_d2d(self.device(), self.memory(), self.memory(), self.input.size()),
                11 => tenon_memory_copy_p2p(
                    self.device(),
                    self.device(),
                    self.memory(),
                    self.memory(),
                    self.input.size(),
                ),
                12..=13 => {
                    let (device, stream) = (self.device(), self.stream());
                    let (memory, (host, size)) = (self.memory(), self.host());
                    match choice {
                        12 => tenon_async_memory_copy_h2d(device, stream, memory, host, size),
                        _ => tenon_async_memory_copy_d2h(device, stream, host, memory, size),
                    }
                }
                14 => {
                    let (pattern, size) = self.host();
                    let length = size.min(1 << self.input.below(6));
                    let (device, stream) = (self.device(), self.stream());
                    tenon_async_memory_fill(device, stream, self.memory(), pattern, length, self.input.size())
                }
                15 => tenon_async_memory_copy_d2d(
                    self.device(),
                    self.stream(),
                    self.memory(),
                    self.memory(),
                    self.input.size(),
                ),
                16 => tenon_async_memory_copy_p2p(
                    self.device(),
                    self.device(),
                    self.stream(),
                    self.memory(),
                    self.memory(),
                    self.input.size(),
                ),
                17..=18 => {
                    let device = self.device();
                    return self.create(device, tenon_create_stream, |program| &mut program.streams);
                }
                19 => tenon_destroy_stream(self.device(), self.stream()),
                20 => tenon_query_stream(self.device(), self.stream(), self.out(&mut yes)),
                21 => tenon_synchronize_stream(self.device(), self.stream()),
                22..=23 => {
                    let callback = if self.input.below(8) == 7 { None } else { Some(count as Callback) };
                    let data = std::ptr::from_ref(&CALLED).cast_mut().cast();
                    let status = tenon_stream_add_callback(self.device(), self.stream(), callback, data);
                    self.callbacks += usize::from(status == SUCCESS);
                    status
                }
                24..=25 => tenon_stream_wait_event(self.device(), self.stream(), self.event()),
                26..=27 => {
                    let device = self.device();
                    return self.create(device, tenon_create_event, |program| &mut program.events);
                }
                28 => tenon_destroy_event(self.device(), self.event()),
                29 => tenon_record_event(self.device(), self.stream(), self.event()),
                30 => {
                    let (device, start, end) = (self.device(), self.event(), self.event());
                    tenon_event_elapsed_time(device, start, end, self.out(&mut elapsed))
                }
                31 => tenon_query_event(self.device(), self.event(), self.out(&mut yes)),
                32 => tenon_synchronize_event(self.device(), self.event()),
                33 => tenon_synchronize_device(self.device()),
                34..=35 => {
                    let (device, size, stream) = (self.device(), self.input.size(), self.stream());
                    let out = self.out(&mut number);
                    let status = tenon_pool_allocate(device, size, stream, out);
                    if status == SUCCESS {
                        self.memory.push(number);
                    }
                    status
                }
                36..=37 => tenon_pool_free(self.device(), self.memory(), self.stream()),
                38 => tenon_pool_get_statistics(self.device(), room),
                39 => tenon_pool_trim(self.device(), self.input.size()),
                40 => {
                    let (device, size, stream) = (self.device(), self.input.size(), self.stream());
                    let out = self.out(&mut number);
                    let status = tenon_buffer_create(device, size, stream, out);
                    if status == SUCCESS {
                        self.buffers.push(number);
                    }
                    status
                }
                41 => tenon_buffer_destroy(self.buffer(), self.stream()),
                42 => tenon_buffer_size(self.buffer(), self.out(&mut number)),
                43 => {
                    let status = tenon_buffer_address(self.buffer(), &mut number);
                    if status == SUCCESS {
                        self.memory.push(number);
                    }
                    status
                }
                44 => tenon_buffer_device(self.buffer(), self.out(&mut number)),
                45..=46 => {
                    let name =
                        [c"cpu".as_ptr(), null(), c"".as_ptr(), c"npu \xff".as_ptr()][self.input.below(4)];
                    let ordinal = [0, 1, 2, -1, c_int::MAX, c_int::MIN][self.input.below(6)];
                    return self.open(name, ordinal);
                }
                47 => tenon_device_close(self.device()),
                48 => tenon_device_make_current(self.device()),
                49 => tenon_device_current(self.out(&mut number)),
                50 => tenon_device_get_info(self.device(), self.out(&mut *room.cast())),
                51..=53 => {
                    let device = self.device();
                    let mut text = vec![0_u8; self.input.size().min(1 << 16)];
                    number = text.len();
                    let place = if self.input.below(3) == 0 { null_mut() } else { text.as_mut_ptr() };
                    let size = self.out(&mut number);
                    match choice {
                        51 => tenon_device_report_text(device, place, size),
                        52 => tenon_device_report_json(device, place, size),
                        _ => tenon_device_report(device, null_mut(), size),
                    }
                }
                54 => {
                    let mut made = 0;
                    let status = tenon_plugin_get(self.input.size(), self.out(&mut made));
                    if status == SUCCESS && made != 0 {
                        self.plugins.push(made);
                    }
                    status
                }
                55 => {
                    let name = [c"cpu".as_ptr(), null(), c"".as_ptr(), c"gpu".as_ptr()][self.input.below(4)];
                    let status = tenon_plugin_find(name, &mut number);
                    if status == SUCCESS {
                        self.plugins.push(number);
                    }
                    status
                }
                56 => tenon_plugin_get_info(self.plugin(), room),
                57 => tenon_unload_plugin(self.plugin()),
                58 => {
                    let status =
                        tenon_plugin_open_device(self.plugin(), self.input.below(3) as c_int, &mut number);
                    if status == SUCCESS {
                        self.devices.push(number);
                    }
                    status
                }
                59 => {
                    let (plugin, device) = (self.plugin(), self.device());
                    match self.input.below(9) {
                        0 => tenon_initialize(plugin),
                        1 => tenon_finalize(plugin),
                        2 => tenon_init_device(device),
                        3 => tenon_deinit_device(device),
                        4 => tenon_set_device(device),
                        5 => tenon_get_device(plugin, self.out(&mut number)),
                        6 => tenon_get_device_count(plugin, self.out(&mut number)),
                        7 => tenon_xccl_group_start(plugin),
                        _ => tenon_xccl_destroy_comm(plugin, self.input.handle(&self.graphs.clone())),
                    }
                }
                60 => {
                    let device = self.device();
                    match self.input.below(5) {
                        0 => tenon_device_memory_stats(device, self.out(&mut number), self.out(&mut other)),
                        1 => tenon_device_min_chunk_size(device, self.out(&mut number)),
                        2 => tenon_device_max_alloc_size(device, self.out(&mut number)),
                        3 => tenon_get_max_grid_dim_size(device, room.cast()),
                        _ => tenon_get_runtime_version(device, self.out(&mut number)),
                    }
                }
                61 => {
                    let mode = self.input.below(3) as c_int;
                    tenon_cuda_stream_begin_capture(self.device(), self.stream(), mode)
                }
                62 => {
                    let (device, stream) = (self.device(), self.stream());
                    let status = tenon_cuda_stream_end_capture(device, stream, self.out(&mut number));
                    if status == SUCCESS {
                        self.graphs.push(number);
                    }
                    status
                }
                63 => {
                    let (plugin, mut graph) = (self.plugin(), self.input.handle(&self.graphs.clone()));
                    let mut text = [0_u8; 64];
                    let size = self.input.below(65);
                    let status = tenon_cuda_graph_instantiate(
                        plugin,
                        &mut number,
                        &mut graph,
                        &mut other,
                        text.as_mut_ptr(),
                        size,
                    );
                    if status == SUCCESS {
                        self.executables.push(number);
                    }
                    status
                }
                64 => {
                    let executable = self.input.handle(&self.executables.clone());
                    tenon_cuda_graph_launch(self.device(), executable, self.stream())
                }
                65 => {
                    let graph = self.input.handle(&self.graphs.clone());
                    let mut nodes = [0_usize; 64];
                    number = self.input.below(65);
                    let nodes = if self.input.below(2) == 0 { null_mut() } else { nodes.as_mut_ptr() };
                    tenon_cuda_graph_get_nodes(self.plugin(), graph, nodes, &mut number)
                }
                66 => tenon_cuda_graph_destroy(self.plugin(), self.input.handle(&self.graphs.clone())),
                67 => {
                    tenon_cuda_graph_exec_destroy(self.plugin(), self.input.handle(&self.executables.clone()))
                }
                68 => {
                    let (device, stream) = (self.device(), self.stream());
                    let status = tenon_init_blas_handle(device, self.out(&mut number), stream);
                    if status == SUCCESS {
                        self.blas.push(number);
                    }
                    status
                }
                69 => tenon_destroy_blas_handle(self.device(), self.input.handle(&self.blas.clone())),
                70 => {
                    let (device, stream) = (self.device(), self.stream());
                    let (kind, size) = (self.input.below(20) as c_int, self.input.size());
                    tenon_blas_axpby(device, stream, kind, size, 2.0, self.memory(), 0.5, self.memory())
                }
                _ => match self.input.below(8) {
                    0 => {
                        let status = tenon_init(null());
                        self.initialised += usize::from(status == SUCCESS);
                        status
                    }
                    1 => {
                        let status = tenon_shutdown();
                        self.initialised -= usize::from(status == SUCCESS && self.initialised > 0);
                        status
                    }
                    2 => tenon_layers_enable(
                        [c"validate".as_ptr(), c"none of these".as_ptr(), null()][self.input.below(3)],
                    ),
                    3 => tenon_load_plugin(c"/there/is/no/such.so".as_ptr(), null(), self.out(&mut number)),
                    4 => tenon_plugin_failures(null_mut(), self.out(&mut number)),
                    5 => tenon_plugin_count(self.out(&mut number)),
                    6 => tenon_device_count(c"cpu".as_ptr(), self.out(&mut number)),
                    _ => tenon_error_last(room),
                },
            }
        };
        self.check_status(status);
    }
}
