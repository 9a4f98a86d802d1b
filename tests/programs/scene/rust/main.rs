// SPDX-License-Identifier: Apache-2.0
fn main() {
    let n = std::thread::spawn(|| 6 * 7).join().unwrap();
    println!("hello, {n}");
}
