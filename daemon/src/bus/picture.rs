//! The icon as a picture, for bars whose theme lacks the name: a microphone in the colour of what goes on.

use crate::reply::State;

/// Width, height, and four bytes a pixel: alpha, red, green, blue (the item's `IconPixmap`).
pub type Picture = (i32, i32, Vec<u8>);

/// Edges in pixels, for usual screens and dense ones.
const EDGES: [u8; 2] = [22, 44];
/// Each pixel is looked at this often across and down, so that edges are smooth.
const FINE: u8 = 4;

/// The pictures of a state.
pub fn pictures(state: State, problem: bool) -> Vec<Picture> {
    let colour = colour(state, problem);
    let crossed = state == State::Muted;
    EDGES.iter().map(|edge| picture(*edge, colour, crossed)).collect()
}

/// One that is seen on light bars and on dark ones.
fn colour(state: State, problem: bool) -> [u8; 3] {
    match state {
        State::Idle if problem => [0xe5, 0xa5, 0x0a],
        State::Idle | State::Muted => [0x9a, 0x99, 0x96],
        State::Listening => [0xe0, 0x1b, 0x24],
        State::Transcribing | State::Thinking | State::Acting | State::Speaking => [0x35, 0x84, 0xe4],
        State::Confirming => [0xff, 0x78, 0x00],
    }
}

fn picture(edge: u8, [red, green, blue]: [u8; 3], crossed: bool) -> Picture {
    let mut bytes = Vec::with_capacity(4 * usize::from(edge) * usize::from(edge));
    let steps = f32::from(edge) * f32::from(FINE);
    let at = |pixel: u8, part: u8| (f32::from(pixel) * f32::from(FINE) + f32::from(part) + 0.5) / steps;
    for y in 0..edge {
        for x in 0..edge {
            let parts = (0..FINE).flat_map(|b| (0..FINE).map(move |a| (a, b)));
            let inside = parts
                .filter(|(a, b)| covers(at(x, *a), at(y, *b), crossed))
                .count();
            let alpha = u8::try_from(inside * 255 / usize::from(FINE * FINE)).unwrap_or(u8::MAX);
            bytes.extend([alpha, red, green, blue]);
        }
    }
    (edge.into(), edge.into(), bytes)
}

/// Whether the microphone covers this point; the picture goes from 0 to 1 in both directions.
fn covers(x: f32, y: f32, crossed: bool) -> bool {
    // Along the falling diagonal, and across it.
    let (along, across) = ((x + y) / 2.0, (x - y).abs());
    if crossed && (0.12..0.88).contains(&along) && across < 0.18 {
        // A stroke with a gap on both sides.
        return across < 0.07;
    }
    let from = |cy: f32| (x - 0.5).hypot(y - cy);
    let capsule = from(y.clamp(0.24, 0.44)) < 0.15;
    let arc = y > 0.44 && (0.22..0.29).contains(&from(0.44));
    let stem = (x - 0.5).abs() < 0.035 && (0.72..0.88).contains(&y);
    let foot = (x - 0.5).abs() < 0.17 && (0.84..0.91).contains(&y);
    capsule || arc || stem || foot
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The alpha values as characters.
    fn seen(picture: &Picture) -> Vec<String> {
        let (width, _, bytes) = picture;
        let rows = bytes.chunks(4 * usize::try_from(*width).unwrap());
        let dark = |pixel: &[u8]| match pixel[0] {
            0..64 => '.',
            64..192 => '+',
            _ => '#',
        };
        rows.map(|row| row.chunks(4).map(dark).collect()).collect()
    }

    #[test]
    fn a_microphone_is_seen_and_a_muted_one_is_crossed_out() {
        let idle = &pictures(State::Idle, false)[0];
        let muted = &pictures(State::Muted, false)[0];
        let text = format!("{}\n\n{}", seen(idle).join("\n"), seen(muted).join("\n"));
        insta::assert_snapshot!(text);
    }

    #[test]
    fn each_picture_has_its_size_and_the_colour_of_its_state() {
        let states = [
            State::Idle,
            State::Listening,
            State::Transcribing,
            State::Thinking,
            State::Confirming,
            State::Acting,
            State::Speaking,
            State::Muted,
        ];
        for state in states {
            for (edge, (width, height, bytes)) in EDGES.into_iter().zip(pictures(state, false)) {
                assert_eq!((width, height), (edge.into(), edge.into()));
                assert_eq!(bytes.len(), 4 * usize::from(edge) * usize::from(edge));
                assert!(bytes.chunks(4).any(|pixel| pixel[0] == 255), "{state:?}");
                assert!(bytes.chunks(4).all(|pixel| pixel[1..] == colour(state, false)));
            }
        }
        assert_ne!(colour(State::Idle, true), colour(State::Idle, false));
    }
}
