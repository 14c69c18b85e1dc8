//! The real xdg-desktop-portal with a backend of ours behind it: pictures of the screen and the colour scheme as desktops
//! give them.

use std::{
    collections::HashMap,
    fs,
    path::Path,
    sync::{Arc, Mutex},
};

use serde_json::json;
use zbus::{OwnedObjectPath, OwnedVariant, Variant, interface};

use crate::{
    system::desktop::testing::{World, skipped},
    testing::{run, said, told},
};

const PATH: &str = "/org/freedesktop/portal/desktop";
const PORTAL: &str = "org.freedesktop.portal.Desktop";
const BACKEND: &str = "org.freedesktop.impl.portal.desktop.tirotest";

type Dict = HashMap<String, OwnedVariant>;

/// The desktop's side, and the person before it.
#[derive(Clone, Default)]
struct Backend(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    /// What the person says to a picture: 0 yes, 1 no.
    answer: u32,
    /// Where the desktop puts it.
    uri: String,
    /// How often one was taken, and whether the person was to choose something first.
    taken: Vec<bool>,
    /// 0 is no preference, 1 dark, 2 light.
    scheme: u32,
}

#[interface(name = "org.freedesktop.impl.portal.Screenshot")]
impl Backend {
    fn screenshot(
        &self,
        _handle: OwnedObjectPath,
        _app: String,
        _window: String,
        mut options: Dict,
    ) -> (u32, Dict) {
        let mut seen = self.0.lock().unwrap();
        let interactive = options
            .remove("interactive")
            .is_some_and(|v| bool::try_from(v).unwrap());
        seen.taken.push(interactive);
        let uri = Variant::from(seen.uri.as_str()).try_to_owned().unwrap();
        (seen.answer, HashMap::from([("uri".to_owned(), uri)]))
    }

    #[zbus(property, name = "version")]
    fn version(&self) -> u32 {
        2
    }
}

/// What the frontend asks the person for the first time.
struct Access(Backend);

#[interface(name = "org.freedesktop.impl.portal.Access")]
impl Access {
    #[expect(clippy::too_many_arguments, reason = "the interface has them")]
    fn access_dialog(
        &self,
        _handle: OwnedObjectPath,
        _app: String,
        _window: String,
        _title: String,
        _subtitle: String,
        _body: String,
        _options: Dict,
    ) -> (u32, Dict) {
        (self.0.0.lock().unwrap().answer, Dict::new())
    }
}

struct Settings(Backend);

impl Settings {
    fn value(&self) -> OwnedVariant {
        Variant::from(self.0.0.lock().unwrap().scheme)
            .try_to_owned()
            .unwrap()
    }
}

#[interface(name = "org.freedesktop.impl.portal.Settings")]
impl Settings {
    fn read_all(&self, _namespaces: Vec<String>) -> HashMap<String, Dict> {
        let one = HashMap::from([("color-scheme".to_owned(), self.value())]);
        HashMap::from([("org.freedesktop.appearance".to_owned(), one)])
    }

    fn read(&self, _namespace: &str, _key: &str) -> OwnedVariant {
        self.value()
    }

    #[zbus(property, name = "version")]
    fn version(&self) -> u32 {
        1
    }
}

/// A desktop with a portal; nothing with a loud line where that is not installed.
async fn desktop(backend: &Backend) -> Option<(World, zbus::Connection)> {
    let mut world = World::start().await?;
    let places = ["/usr/libexec", "/usr/lib", "/usr/lib/xdg-desktop-portal"];
    let program = |name: &str| {
        let found = places.map(|place| Path::new(place).join(name));
        found.into_iter().find(|path| path.is_file())
    };
    let (Some(portal), Some(store)) = (program("xdg-desktop-portal"), program("xdg-permission-store")) else {
        skipped("xdg-desktop-portal");
        return None;
    };
    let names =
        ["Screenshot", "Access", "Settings"].map(|name| format!("org.freedesktop.impl.portal.{name}"));
    let known = format!(
        "[portal]\nDBusName={BACKEND}\nInterfaces={}\nUseIn=tirotest\n",
        names.join(";")
    );
    fs::write(world.folder().join("tirotest.portal"), known).unwrap();
    let folder = world.folder().display().to_string();
    let env = &mut world.desk().env;
    env.retain(|(name, _)| name != "XDG_CURRENT_DESKTOP");
    for (name, value) in [
        ("XDG_CURRENT_DESKTOP", "tirotest:KDE"),
        ("XDG_DESKTOP_PORTAL_DIR", folder.as_str()),
        ("XDG_DATA_HOME", folder.as_str()),
    ] {
        env.push((name.to_owned(), value.to_owned()));
    }
    let served = world.serve(BACKEND, PATH, backend.clone()).await;
    let server = served.object_server();
    server.at(PATH, Access(backend.clone())).await.unwrap();
    server.at(PATH, Settings(backend.clone())).await.unwrap();
    for (program, name) in [
        (&store, "org.freedesktop.impl.portal.PermissionStore"),
        (&portal, PORTAL),
    ] {
        world.spawn(&program.display().to_string(), &[]);
        world.wait_for(name).await;
    }
    // Nothing else takes pictures here.
    let bin = world.folder().join("bin");
    world.desk().path = bin.into_os_string();
    Some((world, served))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_portal_takes_the_picture_or_is_told_no() {
    let backend = Backend::default();
    let Some((world, _served)) = desktop(&backend).await else {
        return;
    };
    let folder = world.folder().join("Pictures");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("Shot 1.png"), b"\x89PNG").unwrap();
    backend.0.lock().unwrap().uri = format!("file://{}/Shot%201.png", folder.display());
    let ctx = world.ctx();
    assert_eq!(
        said(run("system.screenshot", json!({}), &ctx).await),
        "I saved the screenshot in Pictures."
    );
    assert_eq!(
        backend.0.lock().unwrap().taken,
        [false],
        "nobody was to choose a window"
    );
    backend.0.lock().unwrap().answer = 1;
    assert_eq!(
        told(run("system.screenshot", json!({}), &ctx).await),
        "No picture was taken: the desktop was told no."
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_portal_says_what_is_dark() {
    for (scheme, expect) in [
        (1, "Dark mode is on already."),
        (2, "Dark mode is on."),
        (0, "Dark mode is on."),
    ] {
        let backend = Backend::default();
        backend.0.lock().unwrap().scheme = scheme;
        let Some((mut world, _served)) = desktop(&backend).await else {
            return;
        };
        world.program("plasma-apply-colorscheme", "");
        let args = json!({"on": true});
        assert_eq!(
            said(run("system.dark_mode", args, &world.ctx()).await),
            expect,
            "{scheme}"
        );
        let expect = if scheme == 1 {
            ""
        } else {
            "plasma-apply-colorscheme BreezeDark\n"
        };
        assert_eq!(world.programs(), expect);
    }
}

/// Where programs have to say who they are, Tiro does before it asks.
#[tokio::test(flavor = "multi_thread")]
async fn who_asks_for_a_picture_says_its_name_first() {
    type Told = Arc<Mutex<Vec<String>>>;
    struct Registry(Told);
    struct Screenshot(Told);

    #[interface(name = "org.freedesktop.host.portal.Registry")]
    impl Registry {
        fn register(&self, app: String, _options: Dict) {
            self.0.lock().unwrap().push(app);
        }
    }

    #[interface(name = "org.freedesktop.portal.Screenshot")]
    impl Screenshot {
        fn screenshot(&self, _window: &str, _options: Dict) -> zbus::fdo::Result<OwnedObjectPath> {
            self.0.lock().unwrap().push("picture".to_owned());
            Err(zbus::fdo::Error::AccessDenied("no".to_owned()))
        }
    }

    let Some(mut world) = World::start().await else {
        return;
    };
    let asked = Told::default();
    let served = world.serve(PORTAL, PATH, Registry(Arc::clone(&asked))).await;
    let picture = Screenshot(Arc::clone(&asked));
    served.object_server().at(PATH, picture).await.unwrap();
    world.desk().path = "/nonexistent".into();
    let text = told(run("system.screenshot", json!({}), &world.ctx()).await);
    assert!(text.ends_with("does not allow me to do that."), "{text}");
    assert_eq!(*asked.lock().unwrap(), ["org.tiro.Tiro", "picture"]);
}
