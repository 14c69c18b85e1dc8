//! 8-bit weights: ggml's `q8_0`, in which 32 numbers share a factor. Rounded as ggml's own `quantize_row_q8_0_ref` rounds,
//! so that what comes out is what whisper.cpp's `quantize` makes, to the byte.

/// Numbers that share a factor.
pub(super) const BLOCK: usize = 32;

/// Appends the block for 32 numbers: their factor as a half, and a byte for each.
pub(super) fn push_block(numbers: &[f32; BLOCK], out: &mut Vec<u8>) {
    let most = numbers.iter().fold(0.0, |most: f32, x| most.max(x.abs()));
    let factor = most / 127.0;
    // The factor is rounded to a half only where it is written; the numbers are divided by what it was before.
    let inverse = if factor == 0.0 { 0.0 } else { 1.0 / factor };
    out.extend(narrow(factor).to_le_bytes());
    out.extend(
        numbers
            .iter()
            .map(|x| ((x * inverse).round() as i8).to_le_bytes()[0]),
    );
}

/// The nearest IEEE 754 half of a number that is not negative; of two as near the one with the even last bit.
fn narrow(number: f32) -> u16 {
    const INFINITE: u32 = 0x7c00;
    let bits = number.to_bits();
    if bits >= 0x7f80_0000 {
        // What is no number stays none.
        return (INFINITE | u32::from(number.is_nan())) as u16;
    }
    let exponent = (bits >> 23) as i32 - 127;
    let (fraction, dropped) = match exponent {
        // Below the smallest normal half each step costs one more bit; 2^-25 and less are nearest to nothing.
        ..-25 => return 0,
        -25..=-15 => (bits & 0x007f_ffff | 0x0080_0000, (-exponent - 1) as u32),
        // The exponent is put in front, so that rounding up carries into it, and at last to infinity.
        -14..=15 => (((exponent + 15) as u32) << 23 | bits & 0x007f_ffff, 13),
        _ => return INFINITE as u16,
    };
    let (kept, rest, half) = (
        fraction >> dropped,
        fraction & ((1 << dropped) - 1),
        1 << (dropped - 1),
    );
    let up = rest > half || rest == half && kept & 1 == 1;
    (kept + u32::from(up)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::convert::widen;

    #[test]
    fn halves_are_kept_and_what_lies_between_goes_to_the_nearer() {
        for bits in 0..0x7c00_u16 {
            let (this, next) = (widen(bits), widen(bits + 1));
            assert_eq!(narrow(this), bits);
            // Beyond the largest half there is none to lie between.
            if bits == 0x7bff {
                assert_eq!(
                    [narrow(65_519.0), narrow(65_520.0), narrow(1e9)],
                    [bits, 0x7c00, 0x7c00]
                );
                continue;
            }
            // Exact in single precision: one bit more than a half has.
            let middle = this + (next - this) / 2.0;
            assert_eq!(narrow(middle), bits + (bits & 1), "the middle after {bits:#06x}");
            assert_eq!(narrow(middle.next_down()), bits, "below it");
            assert_eq!(narrow(middle.next_up()), bits + 1, "above it");
        }
        assert_eq!(narrow(f32::INFINITY), 0x7c00);
        assert!(widen(narrow(f32::NAN)).is_nan());
    }

    /// A block whose bytes are worked out by hand.
    #[test]
    fn a_block_is_its_factor_and_the_rounded_numbers() {
        let mut numbers = [0.0; BLOCK];
        // The factor is 2: what is 2.5 of them goes away from zero, to 3.
        numbers[..6].copy_from_slice(&[254.0, -254.0, 5.0, -5.0, 4.9, 0.9]);
        let mut out = Vec::new();
        push_block(&numbers, &mut out);
        let mut expected = vec![0x00, 0x40, 127, 0x81, 3, 0xfd, 2, 0];
        expected.resize(34, 0);
        assert_eq!(out, expected);

        out.clear();
        push_block(&[0.0; BLOCK], &mut out);
        assert_eq!(out, [0; 34]);
    }
}
