//! The GPUs of this machine, through wgpu.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use pollster::block_on;
use rayon::prelude::*;
use tcverify_emu::engine::Progress;
use tcverify_tensor::{Plane, Problem};
use wgpu::BufferUsages as Usage;

use super::device::{Chains, Device, DeviceInfo};
use super::plan::{CHUNK, PANEL, QUAD, ShaderPlan};
use super::shader::{TILE, source};

/// Rows and columns of D of a dispatch, by what an adapter is: a tenth of a second or so each, since systems end programs whose
/// shaders run for seconds.
const SIDE: [usize; 3] = [2048, 1024, 256];

/// Dispatches on their way at once: operands of the next are made ready while one runs.
const AHEAD: usize = 2;

/// An adapter that can be opened.
pub struct Adapter {
    adapter: wgpu::Adapter,
    pub info: DeviceInfo,
}

/// Every adapter of this machine that can run shaders, in the order of its drivers.
pub fn adapters() -> Vec<Adapter> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let found = block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
    let named = found.into_iter().map(|adapter| {
        let info = adapter.get_info();
        let driver = [info.driver, info.driver_info].join(" ");
        let info = DeviceInfo {
            name: info.name,
            driver: driver.trim().to_owned(),
            backend: info.backend.to_string(),
            discrete: info.device_type == wgpu::DeviceType::DiscreteGpu,
        };
        Adapter { adapter, info }
    });
    named.collect()
}

impl Adapter {
    /// Makes it ready.
    ///
    /// # Errors
    /// If its driver refuses.
    pub fn open(&self) -> Result<Box<dyn Device>, String> {
        self.open_with(source)
    }

    /// Makes it ready, with shaders of somebody else: tests hand over wrong ones.
    ///
    /// # Errors
    /// If its driver refuses.
    pub fn open_with(
        &self,
        source: impl Fn(&ShaderPlan) -> String + Send + Sync + 'static,
    ) -> Result<Box<dyn Device>, String> {
        let limits = self.adapter.limits();
        let descriptor = wgpu::DeviceDescriptor {
            required_limits: wgpu::Limits::default(),
            ..Default::default()
        };
        let opened = block_on(self.adapter.request_device(&descriptor));
        let (device, queue) = opened.map_err(|error| error.to_string())?;
        let troubles = Arc::new(Troubles::default());
        let seen = troubles.clone();
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            seen.note(&error.to_string());
        }));
        let seen = troubles.clone();
        device.set_device_lost_callback(move |_, message| {
            seen.lost.store(true, Ordering::Relaxed);
            seen.note(&format!("the device is lost: {message}"));
        });
        let side = match self.adapter.get_info().device_type {
            wgpu::DeviceType::DiscreteGpu => SIDE[0],
            wgpu::DeviceType::Cpu => SIDE[2],
            _ => SIDE[1],
        };
        debug_assert!(limits.max_compute_invocations_per_workgroup >= 256);
        Ok(Box::new(Opened {
            info: self.info.clone(),
            device,
            queue,
            side,
            source: Box::new(source),
            troubles,
            pipelines: Mutex::default(),
        }))
    }
}

/// Errors that a driver reports by callbacks.
#[derive(Default)]
struct Troubles {
    lost: AtomicBool,
    first: Mutex<Option<String>>,
}

impl Troubles {
    fn note(&self, message: &str) {
        let mut first = self.first.lock().expect("nothing panics with it");
        first.get_or_insert_with(|| message.trim().replace('\n', " "));
    }

    fn check(&self) -> Result<(), String> {
        let first = self.first.lock().expect("nothing panics with it");
        first.clone().map_or(Ok(()), Err)
    }
}

struct Opened {
    info: DeviceInfo,
    device: wgpu::Device,
    queue: wgpu::Queue,
    side: usize,
    source: Box<dyn Fn(&ShaderPlan) -> String + Send + Sync>,
    troubles: Arc<Troubles>,
    pipelines: Mutex<Vec<(ShaderPlan, wgpu::ComputePipeline)>>,
}

/// A block of D on its way: where its accumulators can be read, and where they belong.
struct Pending {
    buffer: wgpu::Buffer,
    submitted: wgpu::SubmissionIndex,
    rows: std::ops::Range<usize>,
    columns: std::ops::Range<usize>,
}

impl Device for Opened {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn compute(
        &self,
        plan: &ShaderPlan,
        problem: &Problem,
        chains: Chains,
        progress: Progress,
    ) -> Result<Vec<u32>, String> {
        let Problem { m, n, .. } = *problem;
        let pipeline = self.pipeline(plan)?;
        let mut out = vec![0; m * n];
        let mut pending: Option<Pending> = None;
        for top in (0..m).step_by(self.side) {
            for left in (0..n).step_by(self.side) {
                let (rows, columns) = (top..m.min(top + self.side), left..n.min(left + self.side));
                let part = problem.part(rows.clone(), columns.clone());
                let block = self.start((plan, &pipeline), &part, chains, progress)?;
                let (buffer, submitted) = block;
                let next = Pending {
                    buffer,
                    submitted,
                    rows,
                    columns,
                };
                if let Some(before) = pending.replace(next) {
                    self.finish(before, n, &mut out)?;
                }
            }
        }
        if let Some(last) = pending {
            self.finish(last, n, &mut out)?;
        }
        Ok(out)
    }
}

impl Opened {
    fn pipeline(&self, plan: &ShaderPlan) -> Result<wgpu::ComputePipeline, String> {
        let mut known = self.pipelines.lock().expect("nothing panics with it");
        if let Some((_, pipeline)) = known.iter().find(|(known, _)| known == plan) {
            return Ok(pipeline.clone());
        }
        let text = (self.source)(plan).into();
        let module = wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(text),
        };
        let module = self.device.create_shader_module(module);
        let descriptor = wgpu::ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: Default::default(),
            cache: None,
        };
        let pipeline = self.device.create_compute_pipeline(&descriptor);
        self.troubles.check()?;
        known.push((plan.clone(), pipeline.clone()));
        Ok(pipeline)
    }

    fn buffer(&self, words: usize, usage: Usage) -> wgpu::Buffer {
        self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 4 * words.max(1) as u64,
            usage,
            mapped_at_creation: false,
        })
    }

    /// Sends a block of D on its way, some k after the others.
    fn start(
        &self,
        (plan, pipeline): (&ShaderPlan, &wgpu::ComputePipeline),
        problem: &Problem,
        chains: Chains,
        progress: Progress,
    ) -> Result<(wgpu::Buffer, wgpu::SubmissionIndex), String> {
        let Problem { m, n, k, .. } = *problem;
        let deep = k.min(PANEL).next_multiple_of(CHUNK);
        let words = |lines: usize, bytes: usize| lines * deep * bytes / 4;
        let (a_bytes, b_bytes) = (plan.formats.a.bytes(), plan.formats.b.bytes());
        let input = Usage::STORAGE | Usage::COPY_DST;
        let size = self.buffer(5, Usage::UNIFORM | Usage::COPY_DST);
        let a = self.buffer(words(m, a_bytes), input);
        let b = self.buffer(words(n, b_bytes), input);
        let codes = self.buffer(m * n, input | Usage::COPY_SRC);
        if let Some(c) = problem.c {
            let plane = c.plane(0);
            let mut start = vec![0u32; m * n];
            let rows = start.par_chunks_mut(n).enumerate();
            rows.for_each(|(row, out)| plane.read_row(row, 0, out));
            self.queue.write_buffer(&codes, 0, &bytes_of(&start));
        }
        let blocks = plan
            .formats
            .scale
            .map_or(0, |scale| deep.div_ceil(scale.block));
        let scales = problem
            .scales
            .map(|_| [m, n].map(|lines| self.buffer(lines * blocks, input)));
        let mut bound = vec![&size, &a, &b, &codes];
        bound.extend(scales.iter().flatten());
        let totals = plan.promotes.then(|| {
            let totals = self.buffer(m * n, input | Usage::COPY_SRC);
            // Adding to -0 changes nothing.
            let zero = u32::from(chains.from_first) << 31;
            let start = bytes_of(&vec![zero; m * n]);
            self.queue.write_buffer(&totals, 0, &start);
            totals
        });
        bound.extend(&totals);
        let entries = bound
            .iter()
            .zip(0..)
            .map(|(buffer, binding)| wgpu::BindGroupEntry {
                binding,
                resource: buffer.as_entire_binding(),
            });
        let entries: Vec<_> = entries.collect();
        let group = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &entries,
        });
        let result = self.buffer(m * n, Usage::MAP_READ | Usage::COPY_DST);
        let mut submitted = Vec::new();
        let firsts = [0].into_iter().chain(chains.ends.iter().copied());
        let parts = firsts.zip(chains.ends).flat_map(|(first, &end)| {
            let starts = (first..end).step_by(deep);
            starts.map(move |start| (start..end.min(start + deep), start + deep >= end))
        });
        for (range, ends) in parts {
            let last = range.end == k;
            let part = problem.part_k(range);
            let chunks = part.k.div_ceil(CHUNK);
            let of_a = packed(part.a.plane(0), a_bytes, chunks, plan.order());
            let of_b = packed(part.b.transposed().plane(0), b_bytes, chunks, plan.order());
            let quads = part.k.next_multiple_of(plan.step()) / QUAD;
            let numbers = [m, n, quads, blocks, ends.into()].map(|number| number as u32);
            self.queue.write_buffer(&size, 0, &bytes_of(&numbers));
            self.queue.write_buffer(&a, 0, &of_a);
            self.queue.write_buffer(&b, 0, &of_b);
            if let (Some(given), Some(scales)) = (part.scales, &scales) {
                let planes = [given.a.plane(0), given.b.transposed().plane(0)];
                for (plane, buffer) in planes.into_iter().zip(scales) {
                    self.queue
                        .write_buffer(buffer, 0, &bytes_of(&scale_codes(plane, blocks)));
                }
            }
            let mut encoder = self.device.create_command_encoder(&Default::default());
            {
                let mut pass = encoder.begin_compute_pass(&Default::default());
                pass.set_pipeline(pipeline);
                pass.set_bind_group(0, &group, &[]);
                pass.dispatch_workgroups(n.div_ceil(TILE) as u32, m.div_ceil(TILE) as u32, 1);
            }
            if last {
                let codes = totals.as_ref().unwrap_or(&codes);
                encoder.copy_buffer_to_buffer(codes, 0, &result, 0, 4 * (m * n) as u64);
            }
            submitted.push(self.queue.submit([encoder.finish()]));
            if submitted.len() >= AHEAD {
                self.wait(submitted[submitted.len() - AHEAD].clone())?;
            }
            progress((m * n * part.k) as u64);
        }
        let last = submitted.pop().ok_or("a product without products")?;
        Ok((result, last))
    }

    fn finish(&self, pending: Pending, n: usize, out: &mut [u32]) -> Result<(), String> {
        let Pending {
            buffer,
            submitted,
            rows,
            columns,
        } = pending;
        let refused = Arc::new(Mutex::new(None));
        let mine = refused.clone();
        buffer.map_async(wgpu::MapMode::Read, .., move |mapped| {
            *mine.lock().expect("nothing panics with it") = mapped.err();
        });
        self.wait(submitted)?;
        if let Some(error) = refused.lock().expect("nothing panics with it").take() {
            self.troubles.check()?;
            return Err(error.to_string());
        }
        let view = buffer
            .get_mapped_range(..)
            .map_err(|error| error.to_string())?;
        let lines = view.chunks_exact(4 * columns.len());
        for (row, line) in rows.zip(lines) {
            let out = &mut out[row * n..][columns.clone()];
            for (out, word) in out.iter_mut().zip(line.chunks_exact(4)) {
                *out = u32::from_le_bytes(word.try_into().expect("four bytes"));
            }
        }
        Ok(())
    }

    fn wait(&self, submitted: wgpu::SubmissionIndex) -> Result<(), String> {
        let waited = self.device.poll(wgpu::PollType::Wait {
            submission_index: Some(submitted),
            timeout: None,
        });
        // The driver's own error says more than the failed wait.
        self.troubles.check()?;
        waited.map(|_| ()).map_err(|error| error.to_string())
    }
}

fn bytes_of(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Codes of all lines, each filled up with zeros to whole chunks of k; those of a chunk in the given order.
fn packed(plane: Plane, bytes: usize, chunks: usize, order: Option<&[usize]>) -> Vec<u8> {
    let k = plane.columns;
    let line_bytes = chunks * CHUNK * bytes;
    let mut out = vec![0u8; plane.rows * line_bytes];
    let lines = out.par_chunks_mut(line_bytes).enumerate();
    lines.for_each_init(
        || vec![0u32; chunks * CHUNK],
        |codes, (line, out)| {
            plane.read_row(line, 0, &mut codes[..k]);
            let mut write = |at: usize, code: u32| {
                out[at * bytes..][..bytes].copy_from_slice(&code.to_le_bytes()[..bytes]);
            };
            match order {
                None => codes[..k]
                    .iter()
                    .enumerate()
                    .for_each(|(at, &code)| write(at, code)),
                Some(order) => {
                    for (at, first) in (0..codes.len()).step_by(order.len()).enumerate() {
                        for (i, &from) in order.iter().enumerate() {
                            write(at * order.len() + i, codes[first + from]);
                        }
                    }
                }
            }
        },
    );
    out
}

/// Scales of all lines, a word each.
fn scale_codes(plane: Plane, blocks: usize) -> Vec<u32> {
    let mut out = vec![0; plane.rows * blocks];
    for (line, out) in out.chunks_mut(blocks).enumerate() {
        plane.read_row(line, 0, &mut out[..plane.columns]);
    }
    out
}
