//! How loud media players are, for who turns them down for a moment.

use futures_util::future::join_all;
use zbus::Variant;

use super::{
    super::{
        Desk,
        bus::{At, Bus, On, take},
    },
    MAX_PLAYERS, PATH, PLAYER, PREFIX,
};

/// The volumes of the players, over one connection. Every call has the desk's time limit.
pub struct Mixer {
    bus: Bus,
}

impl Mixer {
    /// Nothing where there is no desktop session.
    pub async fn open(desk: &Desk) -> Option<Mixer> {
        let bus = Bus::open(desk, On::Session).await.ok()?;
        Some(Mixer { bus })
    }

    /// The players that play and can be turned down: their names on the bus and how loud they are, 1 being full. One that hangs
    /// is left out.
    pub async fn playing(&self) -> Vec<(String, f64)> {
        let names = self.bus.names().await.unwrap_or_default();
        let names = names.into_iter().filter(|name| {
            // playerctl's daemon shows what another player does a second time.
            name.starts_with(PREFIX) && name != "org.mpris.MediaPlayer2.playerctld"
        });
        let looks = names.take(MAX_PLAYERS).map(|name| async move {
            let mut player = self.bus.all(at(&name)).await.ok()?;
            let status: String = take(&mut player, "PlaybackStatus")?;
            let control: bool = take(&mut player, "CanControl")?;
            let volume = take(&mut player, "Volume").filter(|volume| is_volume(*volume))?;
            (status == "Playing" && control).then_some((name, volume))
        });
        join_all(looks).await.into_iter().flatten().collect()
    }

    /// How loud a player is, should it be there and say so.
    pub async fn volume(&self, player: &str) -> Option<f64> {
        let volume = self.bus.get(at(player), "Volume").await.ok();
        volume.filter(|volume| is_volume(*volume))
    }

    /// Makes a player that loud. Whether it took that.
    pub async fn set(&self, player: &str, volume: f64) -> bool {
        let volume = Variant::from(volume);
        self.bus.set(at(player), "Volume", volume).await.is_ok()
    }
}

/// Somebody else's number.
fn is_volume(volume: f64) -> bool {
    volume.is_finite() && (0.0..=10.0).contains(&volume)
}

fn at(name: &str) -> At<'_> {
    At {
        name,
        path: PATH,
        interface: PLAYER,
    }
}
