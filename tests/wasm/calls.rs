// SPDX-License-Identifier: Apache-2.0
//! A skill that calls what its input names, as calls.c does, in Rust: {"steps": [{"f": "FUNCTION", "t": ARGUMENT}, …]}, just so.
//! It answers with a list of what it got.
use std::alloc::{alloc, Layout};

type Function = unsafe extern "C" fn(*const u8, usize) -> *const u8;

#[link(wasm_import_module = "env")]
extern "C" {
    fn host_http_request(text: *const u8, len: usize) -> *const u8;
    fn host_send_email(text: *const u8, len: usize) -> *const u8;
    fn host_browser_navigate(text: *const u8, len: usize) -> *const u8;
    fn host_browser_screenshot(text: *const u8, len: usize) -> *const u8;
    fn host_browser_eval_js(text: *const u8, len: usize) -> *const u8;
    fn host_socket_open(text: *const u8, len: usize) -> *const u8;
    fn host_socket_read(text: *const u8, len: usize) -> *const u8;
    fn host_socket_write(text: *const u8, len: usize) -> *const u8;
    fn host_socket_close(text: *const u8, len: usize) -> *const u8;
}

const ROWS: [(&str, Function); 9] = [
    ("http_request", host_http_request),
    ("send_email", host_send_email),
    ("browser_navigate", host_browser_navigate),
    ("browser_screenshot", host_browser_screenshot),
    ("browser_eval_js", host_browser_eval_js),
    ("socket_open", host_socket_open),
    ("socket_read", host_socket_read),
    ("socket_write", host_socket_write),
    ("socket_close", host_socket_close),
];

#[no_mangle]
pub extern "C" fn allocate(size: usize) -> *mut u8 {
    unsafe { alloc(Layout::from_size_align(size, 8).unwrap()) }
}

/// The length of a text, four bytes, and the text behind it.
unsafe fn counted<'a>(at: *const u8) -> &'a str {
    let n = u32::from_le_bytes(*(at as *const [u8; 4])) as usize;
    std::str::from_utf8(std::slice::from_raw_parts(at.add(4), n)).unwrap()
}

#[no_mangle]
pub unsafe extern "C" fn handle(input: *const u8, len: usize) -> *const u8 {
    let text = std::str::from_utf8(std::slice::from_raw_parts(input, len)).unwrap();
    let steps = text.strip_prefix("{\"steps\": [{\"f\": \"").unwrap().strip_suffix("}]}").unwrap();
    let mut answers = Vec::new();
    for step in steps.split("}, {\"f\": \"") {
        let (name, argument) = step.split_once("\", \"t\": ").unwrap();
        let function = ROWS.iter().find(|row| row.0 == name).unwrap().1;
        let answer = function(argument.as_ptr(), argument.len());
        if answer.is_null() {
            return answer;
        }
        answers.push(counted(answer));
    }
    let out = format!("{{\"success\": true, \"result\": [{}]}}", answers.join(", "));
    let mut bytes = (out.len() as u32).to_le_bytes().to_vec();
    bytes.extend_from_slice(out.as_bytes());
    Box::leak(bytes.into_boxed_slice()).as_ptr()
}
