// Attention from Rust, with the standard library: rustc --edition 2021 attention.rs && ./attention localhost:8080
use std::collections::HashMap;
use std::io::{Error, ErrorKind, Read, Write};
use std::net::TcpStream;

struct Tensor {
    shape: Vec<usize>,
    data: Vec<f32>,
}

/// A safetensors file: the header's length in eight bytes, the header as JSON, the numbers.
fn pack(tensors: &[(&str, Tensor)], fields: &str) -> Vec<u8> {
    let mut header = format!("{{\"__metadata__\":{{\"request\":{fields:?}}}");
    let mut numbers = Vec::new();
    for (name, tensor) in tensors {
        let begin = numbers.len();
        numbers.extend(tensor.data.iter().flat_map(|x| x.to_le_bytes()));
        let (shape, end) = (&tensor.shape, numbers.len());
        header += &format!(",\"{name}\":{{\"dtype\":\"F32\",\"shape\":{shape:?},\"data_offsets\":[{begin},{end}]}}");
    }
    header += "}";
    header += &" ".repeat(header.len().wrapping_neg() % 8);
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.extend(numbers);
    file
}

/// The whole numbers behind `"name":[` in a text.
fn integers(text: &str, name: &str) -> Vec<usize> {
    let list = text.split(&format!("\"{name}\":[")).nth(1).unwrap_or("").split(']').next().unwrap_or("");
    list.split(',').filter_map(|number| number.trim().parse().ok()).collect()
}

/// Takes the entries `"name":{"dtype":..,"shape":[..],"data_offsets":[..]}` out of the header. A program with a JSON library uses that.
fn unpack(file: &[u8]) -> HashMap<String, Tensor> {
    let start = 8 + u64::from_le_bytes(file[..8].try_into().unwrap()) as usize;
    let header = std::str::from_utf8(&file[8..start]).unwrap();
    let entries: Vec<&str> = header.split(":{\"dtype\"").collect();
    let mut tensors = HashMap::new();
    for pair in entries.windows(2) {
        let name = pair[0].rsplit('"').nth(1).unwrap().to_string();
        let offsets = integers(pair[1], "data_offsets");
        let bytes = &file[start + offsets[0]..start + offsets[1]];
        let data = bytes.chunks_exact(4).map(|x| f32::from_le_bytes(x.try_into().unwrap())).collect();
        tensors.insert(name, Tensor { shape: integers(pair[1], "shape"), data });
    }
    tensors
}

fn attention(address: &str, tensors: &[(&str, Tensor)], fields: &str) -> Result<HashMap<String, Tensor>, Error> {
    let file = pack(tensors, fields);
    let mut connection = TcpStream::connect(address)?;
    // HTTP/1.0: the reply comes in one piece, and ends with the connection.
    write!(
        connection,
        "POST /attention HTTP/1.0\r\nHost: {address}\r\nContent-Type: application/x-safetensors\r\n\
         Accept: application/x-safetensors\r\nContent-Length: {}\r\n\r\n",
        file.len()
    )?;
    connection.write_all(&file)?;
    let mut reply = Vec::new();
    connection.read_to_end(&mut reply)?;
    let body = reply.windows(4).position(|x| x == b"\r\n\r\n").map_or(reply.len(), |at| at + 4);
    if reply.get(9..12) != Some(b"200") {
        return Err(Error::new(ErrorKind::Other, String::from_utf8_lossy(&reply[body..])));
    }
    Ok(unpack(&reply[body..]))
}

fn main() -> Result<(), Error> {
    let address = std::env::args().nth(1).expect("give HOST:PORT");
    let tensors = [
        ("query", Tensor { shape: vec![2, 2], data: vec![1., 0., 0., 1.] }),
        ("key", Tensor { shape: vec![2, 2], data: vec![1., 0., 0., 1.] }),
        ("value", Tensor { shape: vec![2, 1], data: vec![10., 20.] }),
    ];
    let result = attention(&address, &tensors, r#"{"causal": true}"#)?;
    let output = &result["output"];
    assert_eq!(output.shape, [2, 1]);
    println!("{:.4} {:.4}", output.data[0], output.data[1]);
    Ok(())
}
