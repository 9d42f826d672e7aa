//! Sums of products in Einstein's notation.
//!
//! An equation such as `bij,bjk->bik` names the dimensions of each operand and of the output. Elements of the operands
//! with equal labels are multiplied, and the products are summed over the labels that the output lacks. A label that an
//! operand has twice stands for its diagonal. `...` stands for any dimensions, which are broadcast. Without `->` the output
//! has the dimensions of `...` and, in alphabetical order, the labels that occur once.

use std::collections::{BTreeMap, VecDeque};

use crate::error::{Error, Result, expect_shape};
use crate::formulas::reduction::Sum;
use crate::loops::movement;
use crate::matmul::matmul;
use crate::reduction::{Along, numeric, sum_to};
use crate::tensor::buffer::Buffer;
use crate::tensor::{View, ViewMut};

/// The name of a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Label {
    /// A dimension of `...`: the number of dimensions of `...` behind it.
    Broadcast(usize),
    Named(char),
}

/// The labels of all operands and of the output, and the length of each dimension.
struct Equation {
    operands: Vec<Vec<Label>>,
    output: Vec<Label>,
    lengths: BTreeMap<Label, usize>,
}

impl Equation {
    fn new(text: &str, operands: &[View<'_>]) -> Result<Self> {
        let refused = || Error::Attribute { name: "equation", value: format!("`{text}`") };
        let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        let (left, right) = match compact.split_once("->") {
            Some((left, right)) => (left, Some(right)),
            None => (&*compact, None),
        };
        let terms: Vec<&str> = left.split(',').collect();
        if terms.len() != operands.len() {
            return Err(refused());
        }
        let mut lengths = BTreeMap::new();
        let mut labels = Vec::new();
        for (term, operand) in terms.into_iter().zip(operands) {
            let term = read(term, Some(operand.dims().len())).ok_or_else(refused)?;
            for (&label, &dim) in term.iter().zip(operand.dims()) {
                let length = lengths.entry(label).or_insert(dim);
                if *length == 1 {
                    *length = dim;
                }
                if dim != *length && dim != 1 {
                    return Err(Error::Broadcast { from: vec![dim], to: vec![*length] });
                }
            }
            labels.push(term);
        }
        let broadcast = lengths.keys().filter(|label| matches!(label, Label::Broadcast(_))).count();
        let output = match right {
            Some(right) => {
                let output = if right.contains("...") {
                    read(right, Some(right.len() - "...".len() + broadcast))
                } else {
                    read(right, None)
                };
                output.ok_or_else(refused)?
            }
            None => {
                let is_single = |label: &&Label| {
                    matches!(label, Label::Broadcast(_))
                        || labels.iter().flatten().filter(|other| other == label).count() == 1
                };
                let (mut output, named): (Vec<Label>, Vec<Label>) =
                    lengths.keys().filter(is_single).partition(|label| matches!(label, Label::Broadcast(_)));
                output.reverse();
                output.extend(named);
                output
            }
        };
        let is_once = |label: &Label| output.iter().filter(|other| *other == label).count() == 1;
        if !output.iter().all(|label| lengths.contains_key(label) && is_once(label)) {
            return Err(refused());
        }
        Ok(Self { operands: labels, output, lengths })
    }

    fn dims(&self, labels: &[Label]) -> Vec<usize> {
        labels.iter().map(|label| self.lengths[label]).collect()
    }
}

/// Reads the labels of a tensor with some number of dimensions; `None` if they do not fit.
fn read(term: &str, rank: Option<usize>) -> Option<Vec<Label>> {
    let (before, behind) = match term.split_once("...") {
        Some((before, behind)) => (before, Some(behind)),
        None => (term, None),
    };
    let named = before.len() + behind.map_or(0, str::len);
    let hidden = match behind {
        Some(_) => rank?.checked_sub(named)?,
        None => 0,
    };
    let letters = |text: &str| {
        let letter = |c: char| c.is_ascii_alphabetic().then_some(Label::Named(c));
        text.chars().map(letter).collect::<Option<Vec<_>>>()
    };
    let mut labels = letters(before)?;
    labels.extend((0..hidden).rev().map(Label::Broadcast));
    labels.extend(letters(behind.unwrap_or_default())?);
    (rank.is_none() || rank == Some(labels.len())).then_some(labels)
}

/// A factor of the products.
enum Factor<'v> {
    Given(View<'v>),
    Computed(Buffer),
}

/// A factor whose dimensions have different labels.
struct Term<'v> {
    factor: Factor<'v>,
    labels: Vec<Label>,
}

impl<'v> Term<'v> {
    fn view(&self) -> Result<View<'_>> {
        match &self.factor {
            Factor::Given(view) => Ok(view.clone()),
            Factor::Computed(buffer) => buffer.view(),
        }
    }

    /// Takes the diagonals of an operand.
    fn of_operand(mut view: View<'v>, labels: &[Label]) -> Result<Self> {
        let mut labels = labels.to_vec();
        while let Some((first, second)) = repeated(&labels) {
            view = view.diagonal(0, first, second)?;
            replace(&mut labels, first, second);
        }
        Ok(Self { factor: Factor::Given(view), labels })
    }

    /// Sums over all labels but those that are kept.
    fn summed(self, keep: impl Fn(&Label) -> bool) -> Result<Self> {
        let axes: Vec<usize> = (0..self.labels.len()).filter(|&axis| !keep(&self.labels[axis])).collect();
        if axes.is_empty() {
            return Ok(self);
        }
        let view = self.view()?;
        let labels: Vec<Label> = self.labels.iter().copied().filter(&keep).collect();
        let dims: Vec<usize> = (0..view.dims().len())
            .filter(|axis| !axes.contains(axis))
            .map(|axis| view.dims()[axis])
            .collect();
        let mut sum = Buffer::new(view.dtype(), &dims)?;
        numeric(Sum, &mut sum.view_mut()?, &view, Along::Axes(&axes))?;
        Ok(Self { factor: Factor::Computed(sum), labels })
    }

    /// Copies the elements into a list of matrices: the labels of each of the three dimensions follow each other.
    fn matrices(&self, equation: &Equation, parts: [&[Label]; 3]) -> Result<Buffer> {
        let order = parts.concat();
        let view = self.view()?.permute(&places(&self.labels, &order))?;
        let dims = equation.dims(&order);
        let mut buffer = Buffer::new(view.dtype(), &dims)?;
        movement::copy(&mut buffer.view_mut()?, &view.expand(&dims)?)?;
        buffer.reshape(&parts.map(|labels| equation.dims(labels).iter().product()))?;
        Ok(buffer)
    }

    /// Multiplies with another term, and sums over the shared labels that are not kept.
    fn times(self, other: Term<'_>, equation: &Equation, keep: impl Fn(&Label) -> bool) -> Result<Term<'v>> {
        let left = self.summed(|label| keep(label) || other.labels.contains(label))?;
        let right = other.summed(|label| keep(label) || left.labels.contains(label))?;
        let (shared, rows): (Vec<Label>, Vec<Label>) =
            left.labels.iter().partition(|label| right.labels.contains(label));
        let (batch, inner): (Vec<Label>, Vec<Label>) = shared.into_iter().partition(&keep);
        let columns: Vec<Label> =
            right.labels.iter().copied().filter(|label| !left.labels.contains(label)).collect();
        let labels = [batch.clone(), rows.clone(), columns.clone()].concat();
        let a = left.matrices(equation, [&batch, &rows, &inner])?;
        let b = right.matrices(equation, [&batch, &inner, &columns])?;
        let dims = [&batch, &rows, &columns].map(|labels| equation.dims(labels).iter().product());
        let mut product = Buffer::new(a.view()?.dtype(), &dims)?;
        matmul(&mut product.view_mut()?, &a.view()?, &b.view()?, false, false)?;
        product.reshape(&equation.dims(&labels))?;
        Ok(Term { factor: Factor::Computed(product), labels })
    }
}

/// Returns the places of a label that occurs twice.
fn repeated(labels: &[Label]) -> Option<(usize, usize)> {
    (0..labels.len()).find_map(|second| {
        let first = labels[..second].iter().position(|label| *label == labels[second])?;
        Some((first, second))
    })
}

/// Replaces two dimensions by their diagonal, which is the last one.
fn replace(labels: &mut Vec<Label>, first: usize, second: usize) {
    labels.remove(second);
    let label = labels.remove(first);
    labels.push(label);
}

/// Returns the place of each of some labels.
fn places(labels: &[Label], wanted: &[Label]) -> Vec<usize> {
    wanted.iter().filter_map(|label| labels.iter().position(|other| other == label)).collect()
}

/// Multiplies terms, and sums over all labels but those that are kept.
fn contract<'v>(
    terms: Vec<Term<'v>>,
    equation: &Equation,
    keep: impl Fn(&Label) -> bool,
) -> Result<Option<Term<'v>>> {
    let mut terms = VecDeque::from(terms);
    let Some(mut product) = terms.pop_front() else { return Ok(None) };
    while let Some(next) = terms.pop_front() {
        let is_needed = |label: &Label| keep(label) || terms.iter().any(|term| term.labels.contains(label));
        product = product.times(next, equation, is_needed)?;
    }
    product.summed(keep).map(Some)
}

/// Computes sums of products of the operands' elements.
///
/// # Errors
/// [`Error::Attribute`] if the equation is not valid for the operands, [`Error::Broadcast`], [`Error::Shape`], and
/// [`Error::Type`] if a type is complex.
pub fn einsum(out: &mut ViewMut<'_>, operands: &[View<'_>], equation: &str) -> Result<()> {
    let equation = Equation::new(equation, operands)?;
    expect_shape(&equation.dims(&equation.output), out.dims())?;
    let terms = operands.iter().zip(&equation.operands);
    let terms = terms.map(|(view, labels)| Term::of_operand(view.clone(), labels)).collect::<Result<_>>()?;
    let Some(product) = contract(terms, &equation, |label| equation.output.contains(label))? else {
        return Ok(());
    };
    let view = product.view()?.permute(&places(&product.labels, &equation.output))?;
    movement::copy(out, &view.expand(out.dims())?)
}

/// Computes the gradients of [`einsum`] with respect to the operands.
///
/// The operands may be repeated to the length of the others already, or summed over dimensions that they alone have.
/// The gradients have the shapes from before.
///
/// # Errors
/// As [`einsum`].
pub fn einsum_grad(
    gradients: &mut [Option<ViewMut<'_>>],
    operands: &[View<'_>],
    dout: &View<'_>,
    equation: &str,
) -> Result<()> {
    let equation = Equation::new(equation, operands)?;
    expect_shape(&equation.dims(&equation.output), dout.dims())?;
    for (index, gradient) in gradients.iter_mut().enumerate() {
        let Some(gradient) = gradient else { continue };
        let Some(operand) = operands.get(index) else { continue };
        let mut pairs = operand.dims().iter().zip(gradient.dims());
        let has_rank = operand.dims().len() == gradient.dims().len();
        if !has_rank || !pairs.all(|(&given, &before)| given == before || given == 1 || before == 1) {
            return Err(Error::Shape { expected: operand.dims().to_vec(), actual: gradient.dims().to_vec() });
        }
        let mut terms = vec![Term::of_operand(dout.clone(), &equation.output)?];
        for (other, (operand, labels)) in operands.iter().zip(&equation.operands).enumerate() {
            if other != index {
                terms.push(Term::of_operand(operand.clone(), labels)?);
            }
        }
        let own = &equation.operands[index];
        if let Some(product) = contract(terms, &equation, |label| own.contains(label))? {
            write_gradient(gradient, own, &product, &equation)?;
        }
    }
    Ok(())
}

/// Writes a gradient to the diagonals of an operand: the same one for all elements over which the operand alone is summed,
/// and the sum of those of elements to which it was broadcast.
fn write_gradient(
    gradient: &mut ViewMut<'_>,
    labels: &[Label],
    product: &Term<'_>,
    equation: &Equation,
) -> Result<()> {
    let mut labels = labels.to_vec();
    if repeated(&labels).is_some() {
        movement::zero(gradient)?;
    }
    let mut gradient = gradient.reborrow();
    while let Some((first, second)) = repeated(&labels) {
        gradient = gradient.diagonal(0, first, second)?;
        replace(&mut labels, first, second);
    }
    let mut view = product.view()?.permute(&places(&product.labels, &labels))?;
    let mut dims = Vec::new();
    for (axis, label) in labels.iter().enumerate() {
        if product.labels.contains(label) {
            dims.push(equation.lengths[label])
        } else {
            view = view.insert(axis)?;
            dims.push(gradient.dims()[axis]);
        }
    }
    sum_to(&mut gradient, &view.expand(&dims)?)
}
