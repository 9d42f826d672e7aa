use tenon_kernels::attributes::RnnAttributes;
use tenon_kernels::rnn::{reserve_shape, rnn, rnn_grad};
use tenon_kernels::{DType, Error, TensorMeta, View, ViewMut};

use crate::support::{FLOATS, Random, Tensor, gradient};

// As many as let a layer arrange its weights.
const TIME: usize = 8;
const BATCH: usize = 2;
const INPUT: usize = 3;
const HIDDEN: usize = 2;

#[derive(Clone, Debug)]
struct Case {
    mode: &'static str,
    layers: usize,
    directions: usize,
    lengths: Option<[usize; BATCH]>,
    dropout: f64,
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

impl Case {
    fn gates(&self) -> usize {
        match self.mode {
            "LSTM" => 4,
            "GRU" => 3,
            _ => 1,
        }
    }

    fn states(&self) -> usize {
        if self.mode == "LSTM" { 2 } else { 1 }
    }

    fn width(&self) -> usize {
        self.directions * HIDDEN
    }

    fn state_dims(&self) -> [usize; 3] {
        [self.layers * self.directions, BATCH, HIDDEN]
    }

    fn weight_dims(&self) -> Vec<Vec<usize>> {
        let wide = self.gates() * HIDDEN;
        let parts = self.layers * self.directions;
        let input = |part: usize| if part < self.directions { INPUT } else { self.width() };
        let matrices = (0..parts).flat_map(|part| [vec![wide, input(part)], vec![wide, HIDDEN]]);
        matrices.chain((0..2 * parts).map(|_| vec![wide])).collect()
    }

    /// Returns the shapes of `x`, the states and the weights.
    fn input_dims(&self) -> Vec<Vec<usize>> {
        let states = (0..self.states()).map(|_| self.state_dims().to_vec());
        [vec![TIME, BATCH, INPUT]].into_iter().chain(states).chain(self.weight_dims()).collect()
    }

    /// Computes the output, and behind it the last states, of one sample after the other and one number at a time.
    fn forward(&self, inputs: &[Vec<f64>], uniform: &[f64]) -> Vec<f64> {
        let (x, weights) = (&inputs[0], &inputs[1 + self.states()..]);
        let parts = self.layers * self.directions;
        let mut out = vec![0.0; TIME * BATCH * self.width()];
        let mut states: Vec<Vec<f64>> = inputs[1..=self.states()].to_vec();
        for sample in 0..BATCH {
            let mut rows: Vec<Vec<f64>> =
                (0..TIME).map(|t| x[(t * BATCH + sample) * INPUT..][..INPUT].to_vec()).collect();
            for layer in 0..self.layers {
                let mut next = vec![vec![0.0; self.width()]; TIME];
                for direction in 0..self.directions {
                    let part = layer * self.directions + direction;
                    let [ih, hh] = [0, 1].map(|n| &weights[2 * part + n]);
                    let [b_ih, b_hh] = [0, 1].map(|n| &weights[2 * parts + 2 * part + n]);
                    let at = (part * BATCH + sample) * HIDDEN;
                    let length = self.lengths.map_or(TIME, |lengths| lengths[sample]);
                    for step in 0..length {
                        let t = if direction == 1 { length - 1 - step } else { step };
                        let h = states[0][at..at + HIDDEN].to_vec();
                        let dot = |w: &[f64], row: usize, v: &[f64]| -> f64 {
                            w[row * v.len()..][..v.len()].iter().zip(v).map(|(w, v)| w * v).sum()
                        };
                        for unit in 0..HIDDEN {
                            let from_x = |gate| {
                                let row = gate * HIDDEN + unit;
                                dot(ih, row, &rows[t]) + b_ih[row]
                            };
                            let from_h = |gate| {
                                let row = gate * HIDDEN + unit;
                                dot(hh, row, &h) + b_hh[row]
                            };
                            let both = |gate| from_x(gate) + from_h(gate);
                            let value = match self.mode {
                                "LSTM" => {
                                    let candidate = sigmoid(both(0)) * both(2).tanh();
                                    let c = sigmoid(both(1)) * states[1][at + unit] + candidate;
                                    states[1][at + unit] = c;
                                    sigmoid(both(3)) * c.tanh()
                                }
                                "GRU" => {
                                    let n = (from_x(2) + sigmoid(both(0)) * from_h(2)).tanh();
                                    let z = sigmoid(both(1));
                                    z * h[unit] + (1.0 - z) * n
                                }
                                "RNN_TANH" => both(0).tanh(),
                                _ => both(0).max(0.0),
                            };
                            states[0][at + unit] = value;
                            next[t][direction * HIDDEN + unit] = value;
                        }
                    }
                }
                rows = next;
                if self.dropout > 0.0 && layer + 1 < self.layers {
                    for (t, row) in rows.iter_mut().enumerate() {
                        for (n, value) in row.iter_mut().enumerate() {
                            let place = ((layer * TIME + t) * BATCH + sample) * self.width() + n;
                            *value *=
                                if uniform[place] >= self.dropout { 1.0 / (1.0 - self.dropout) } else { 0.0 };
                        }
                    }
                }
            }
            for (t, row) in rows.iter().enumerate() {
                out[(t * BATCH + sample) * self.width()..][..self.width()].copy_from_slice(row);
            }
        }
        out.into_iter().chain(states.into_iter().flatten()).collect()
    }
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for mode in ["LSTM", "GRU", "RNN_TANH", "RNN_RELU"] {
        for (layers, directions, lengths, dropout) in
            [(1, 1, None, 0.0), (2, 2, None, 0.0), (2, 1, Some([4, 2]), 0.25), (1, 2, Some([0, 3]), 0.0)]
        {
            cases.push(Case { mode, layers, directions, lengths, dropout });
        }
    }
    cases
}

#[test]
fn networks_and_their_gradients_equal_a_loop() {
    let mut random = Random(1);
    for (case, dtype) in cases().into_iter().zip([FLOATS, [DType::F64; 4]].concat().into_iter().cycle()) {
        let tensors: Vec<Tensor> = case.input_dims().iter().map(|dims| random.tensor(dtype, dims)).collect();
        let inputs: Vec<Vec<f64>> = tensors.iter().map(Tensor::values).collect();
        let views: Vec<View<'_>> = tensors.iter().map(Tensor::view).collect();
        let (pre_state, weights) = views[1..].split_at(case.states());
        let count = (case.layers - 1) * TIME * BATCH * case.width();
        let numbers: Vec<f64> = (0..count).map(|_| random.below(64) as f64 / 64.0).collect();
        let uniform = random.tensor_of(DType::F32, &[case.layers - 1, TIME, BATCH, case.width()], &numbers);
        let uniform = uniform.view();
        let lengths = case.lengths.map(|lengths| lengths.map(|length| length as f64));
        let lengths = lengths.map(|lengths| random.tensor_of(DType::I32, &[BATCH], &lengths));
        let lengths = lengths.as_ref().map(Tensor::view);
        let (bidirectional, layers) = (case.directions == 2, case.layers as i64);

        let out_dims = [TIME, BATCH, case.width()];
        let mut out = random.tensor(dtype, &out_dims);
        let mut states: Vec<Tensor> =
            (0..case.states()).map(|_| random.tensor(dtype, &case.state_dims())).collect();
        let mut state_views: Vec<Option<ViewMut<'_>>> =
            states.iter_mut().map(|state| Some(state.view_mut())).collect();
        let metas: Vec<TensorMeta<'_>> = views.iter().map(View::meta).collect();
        let (pre_state_metas, weight_metas) = metas[1..].split_at(case.states());
        let reserve_dims = reserve_shape(
            metas[0],
            pre_state_metas,
            weight_metas,
            lengths.as_ref().map(View::meta),
            &RnnAttributes {
                dropout_prob: case.dropout,
                is_bidirec: bidirectional,
                hidden_size: HIDDEN as i64,
                num_layers: layers,
                mode: case.mode,
                is_test: false,
            },
        )
        .unwrap();
        assert_eq!(reserve_dims == [0], dtype != DType::F64 && dtype != DType::F32);
        let mut reserve = random.tensor(dtype, &reserve_dims);
        rnn(
            &mut reserve.view_mut(),
            &mut out.view_mut(),
            &mut state_views,
            &views[0],
            pre_state,
            weights,
            lengths.as_ref(),
            Some(&uniform),
            case.dropout,
            bidirectional,
            HIDDEN as i64,
            layers,
            case.mode,
            false,
        )
        .unwrap();
        let wanted = case.forward(&inputs, &numbers);
        let (wanted_out, wanted_states) = wanted.split_at(out_dims.iter().product());
        out.assert_close(wanted_out, &case);
        let state_len: usize = case.state_dims().iter().product();
        for (state, wanted) in states.iter().zip(wanted_states.chunks(state_len)) {
            state.assert_close(wanted, &case);
        }
        if dtype != DType::F64 && dtype != DType::F32 {
            continue;
        }

        let dout = random.tensor(dtype, &out_dims);
        let dstates: Vec<Tensor> =
            (0..case.states()).map(|_| random.tensor(dtype, &case.state_dims())).collect();
        let dstate_views: Vec<View<'_>> = dstates.iter().map(Tensor::view).collect();
        // The gradient runs the network again without its values.
        for reserve in [reserve, random.tensor(dtype, &[0])] {
            let mut gradients: Vec<Tensor> =
                case.input_dims().iter().map(|dims| random.tensor(dtype, dims)).collect();
            let mut targets: Vec<Option<ViewMut<'_>>> =
                gradients.iter_mut().map(|gradient| Some(gradient.view_mut())).collect();
            let (dx, rest) = targets.split_at_mut(1);
            let (dpre_state, dweights) = rest.split_at_mut(case.states());
            rnn_grad(
                dx[0].as_mut(),
                dpre_state,
                dweights,
                &views[0],
                pre_state,
                weights,
                lengths.as_ref(),
                &uniform,
                &reserve.view(),
                &dout.view(),
                &dstate_views,
                &RnnAttributes {
                    dropout_prob: case.dropout,
                    is_bidirec: bidirectional,
                    hidden_size: HIDDEN as i64,
                    num_layers: layers,
                    mode: case.mode,
                    is_test: false,
                },
            )
            .unwrap();
            let all: Vec<f64> =
                [&dout].into_iter().chain(&dstates).flat_map(|tensor| tensor.values()).collect();
            for (which, ours) in gradients.iter().enumerate() {
                let wanted = gradient(&inputs, which, &all, |inputs| case.forward(inputs, &numbers));
                // Single precision loses more over the steps than in one.
                let rounded = random.tensor_of(DType::F16, &[wanted.len()], &ours.values());
                if dtype == DType::F64 { ours } else { &rounded }.assert_close(&wanted, (which, &case));
            }
        }
    }
}

#[test]
fn nothing_is_dropped_in_a_test() {
    let mut random = Random(2);
    let case = Case { mode: "GRU", layers: 2, directions: 1, lengths: None, dropout: 0.0 };
    let tensors: Vec<Tensor> = case.input_dims().iter().map(|dims| random.tensor(DType::F64, dims)).collect();
    let views: Vec<View<'_>> = tensors.iter().map(Tensor::view).collect();
    let mut out = random.tensor(DType::F64, &[TIME, BATCH, HIDDEN]);
    let mut state = random.tensor(DType::F64, &case.state_dims());
    let mut reserve = random.tensor(DType::F64, &[0]);
    let mut run = |dropout: f64, is_test: bool, mode: &str| {
        let mut state = [Some(state.view_mut())];
        rnn(
            &mut reserve.view_mut(),
            &mut out.view_mut(),
            &mut state,
            &views[0],
            &views[1..2],
            &views[2..],
            None,
            None,
            dropout,
            false,
            HIDDEN as i64,
            2,
            mode,
            is_test,
        )
    };
    assert!(matches!(run(0.5, false, "GRU"), Err(Error::Missing { missing: "uniform", .. })));
    assert!(matches!(run(0.5, true, "QRNN"), Err(Error::Attribute { name: "mode", .. })));
    assert!(matches!(run(0.5, true, "LSTM"), Err(Error::Length { what: "pre_state", .. })));
    run(0.5, true, "GRU").unwrap();
    let inputs: Vec<Vec<f64>> = tensors.iter().map(Tensor::values).collect();
    out.assert_close(&case.forward(&inputs, &[])[..TIME * BATCH * HIDDEN], &case);
}
