// SPDX-License-Identifier: Apache-2.0
//! A WASI command by Rust's standard library: arguments, variables, folders, clocks, random numbers (as the
//! seeds of maps) and standard streams, with their errors. Prints "ok" and exits with 44, or panics.
use std::collections::HashMap;
use std::io::{self, BufRead, ErrorKind, Read, Seek, SeekFrom, Write};
use std::time::{Duration, Instant, SystemTime};
use std::{env, fs, process, thread};

fn kind<T>(r: io::Result<T>) -> ErrorKind {
    match r {
        Ok(_) => panic!("this must not work"),
        Err(e) => e.kind(),
    }
}

fn files() -> io::Result<()> {
    fs::write("/rw/a", "hello world")?;
    assert_eq!(fs::read_to_string("/rw/a")?, "hello world");
    let mut f = fs::OpenOptions::new().read(true).write(true).open("/rw/a")?;
    assert_eq!(f.seek(SeekFrom::End(-5))?, 6);
    let mut text = String::new();
    f.read_to_string(&mut text)?;
    assert_eq!(text, "world");
    f.set_len(5)?;
    f.sync_all()?;
    assert_eq!(f.metadata()?.len(), 5);
    fs::OpenOptions::new().append(true).open("/rw/a")?.write_all(b"!")?;
    assert_eq!(fs::read("/rw/a")?, b"hello!");
    fs::create_dir_all("/rw/d/e")?;
    fs::rename("/rw/a", "/rw/d/e/b")?;
    fs::hard_link("/rw/d/e/b", "/rw/d/c")?;
    fs::copy("/rw/d/c", "/rw/d/copy")?;
    let mut names: Vec<_> = fs::read_dir("/rw/d")?.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["c", "copy", "e"]);
    assert!(fs::metadata("/rw/d")?.is_dir());
    assert!(fs::metadata("/rw/d/c")?.modified()?.elapsed().unwrap() < Duration::from_secs(3600));
    assert_eq!(kind(fs::read("/rw/nothing")), ErrorKind::NotFound);
    assert_eq!(kind(fs::create_dir("/rw/d")), ErrorKind::AlreadyExists);
    assert_eq!(fs::remove_dir("/rw/d").unwrap_err().raw_os_error(), Some(55)); // ENOTEMPTY
    for file in ["c", "copy", "e/b"] {
        fs::remove_file(format!("/rw/d/{file}"))?;
    }
    fs::remove_dir("/rw/d/e")?;
    fs::remove_dir("/rw/d")?;
    Ok(())
}

fn bounds() {
    for path in ["/etc/passwd", "/secret", "../secret", "/rw/../secret", "/rw/../../etc/passwd", "/ro/../secret"] {
        kind(fs::read(path));
    }
    assert_eq!(fs::read_to_string("/ro/file").unwrap(), "fixed\n");
    kind(fs::write("/ro/file", "x"));
    kind(fs::write("/ro/new", "x"));
    kind(fs::remove_file("/ro/file"));
    kind(fs::create_dir("/ro/d"));
    kind(fs::rename("/ro/file", "/rw/file"));
    kind(std::net::TcpStream::connect("127.0.0.1:1"));
    kind(process::Command::new("/bin/sh").output());
}

fn main() {
    let args: Vec<String> = env::args().skip(1).collect();
    assert_eq!(args, ["one", "two words", "–"]);
    assert_eq!(env::vars().collect::<Vec<_>>(), [("GIVEN".to_string(), "1".to_string())]);
    let begin = Instant::now();
    thread::sleep(Duration::from_millis(3));
    assert!(begin.elapsed() >= Duration::from_millis(3));
    assert!(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap() > Duration::from_secs(1_600_000_000));
    // Each map has keys of its own, from random numbers.
    let order = |n: u32| (0..n).map(|i| (i, i)).collect::<HashMap<_, _>>().into_keys().collect::<Vec<_>>();
    assert!((0..20).any(|_| order(100) != order(100)));
    let lines: Vec<String> = io::stdin().lock().lines().map(|l| l.unwrap()).collect();
    assert_eq!(lines, ["typed", "twice"]);
    files().unwrap();
    bounds();
    eprintln!("for people");
    println!("ok");
    process::exit(44);
}
