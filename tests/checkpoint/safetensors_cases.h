// Headers of safetensors files with what a strict reader must say about them: every rule of the format, its border
// values, and the files that other readers are known to have got wrong. In the words of the reference implementation,
// these are its own tests and more. The length field and the data are added by whoever uses a case.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace wdelta {

struct SafetensorsCase {
  std::string name;
  std::string header;     // the JSON, or what is there in its place
  uint64_t data_bytes;    // that follow it
  std::string complaint;  // words of the message that refuses it; empty: it is accepted
};

inline std::string Repeat(const std::string& text, size_t times) {
  std::string all;
  while (times-- > 0) all += text;
  return all;
}

inline std::string TenNamesOnOneRange() {
  std::string header = "{";
  for (int i = 0; i < 10; ++i) {
    header += (i ? ",\"t" : "\"t") + std::to_string(i) + R"(":{"dtype":"U8","shape":[4],"data_offsets":[0,4]})";
  }
  return header + "}";
}

inline std::vector<SafetensorsCase> SafetensorsCases() {
  const std::string kGood = R"("dtype":"U8","shape":[4],"data_offsets":[0,4])";
  const std::string kOne = R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})";
  // clang-format off
  return {

      // Sound files.
      {"no tensors", R"({})", 0, ""},
      {"no tensors, with metadata", R"({"__metadata__":{"format":"pt"}})", 0, ""},
      {"empty metadata", R"({"__metadata__":{}})", 0, ""},
      {"metadata null", R"({"__metadata__":null})", 0, ""},
      {"metadata last", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"__metadata__":{"a":"b"}})", 4, ""},
      {"metadata name with an escape", R"({"\u005f_metadata__":{"a":"b"}})", 0, ""},
      {"metadata with escapes", R"({"__metadata__":{"a\n\"\\\/\b\f\r\t":"\ud83d\ude00\u0000"}})", 0, ""},
      {"one tensor", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4, ""},
      {"rank 0", R"({"w":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})", 4, ""},
      {"rank 9", R"({"w":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]}})", 1, ""},
      {"zero-size tensor", R"({"w":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})", 0, ""},
      {"zero-size tensor with a large dimension after the zero", R"({"w":{"dtype":"F32","shape":[0,18446744073709551615,7],"data_offsets":[0,0]}})", 0, ""},
      {"zero after the largest dimension", R"({"w":{"dtype":"F32","shape":[18446744073709551615,0],"data_offsets":[0,0]}})", 0, ""},
      {"zero-size tensors at the begin, in between and at the end", R"({"a":{"dtype":"U8","shape":[2,0],"data_offsets":[0,0]},"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"c":{"dtype":"U8","shape":[0],"data_offsets":[1,1]},"d":{"dtype":"U8","shape":[1],"data_offsets":[1,2]},"e":{"dtype":"U8","shape":[0],"data_offsets":[2,2]}})", 2, ""},
      {"zero-size tensor named after the data that it lies before", R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})", 1, ""},
      {"header order is not data order", R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 2, ""},
      {"fields in another order", R"({"w":{"data_offsets":[0,4],"shape":[4],"dtype":"U8"}})", 4, ""},
      {"unknown field of each type", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"a":1,"b":"x","c":null,"d":true,"e":false,"f":[],"g":{},"h":[1,{"i":[-0.5e+3]}]}})", 4, ""},
      {"numbers of every form in an unknown field", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":[0,-0,1,-1,10,0.0,1.5,1e0,1E+2,1e-2,-1.25e-3,1e308,1e-999,0e999,18446744073709551616]}})", 4, ""},
      {"empty name", R"({"":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4, ""},
      {"name with a quote and a backslash", R"({"a\"b\\c":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4, ""},
      {"name of NUL", R"({"\u0000":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4, ""},
      {"name with a pair of surrogates", R"({"\uD83D\uDE00":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4, ""},
      {"name in UTF-8 of two, three and four bytes", R"({"é€😀":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4, ""},
      {"name with DEL", "{\"\x7f\":{" + kGood + "}}", 4, ""},
      {"two names that differ after unescaping", R"({"a\u0062":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"ac":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", 2, ""},
      {"dtype with an escape", R"({"w":{"dtype":"U\u0038","shape":[4],"data_offsets":[0,4]}})", 4, ""},
      {"field name with an escape", R"({"w":{"d\u0074ype":"U8","shape":[4],"data_offsets":[0,4]}})", 4, ""},
      {"the same key in two objects", R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":{"a":{"a":1}}}})", 4, ""},
      {"spaces before the header", "  " + std::string(kOne), 4, ""},
      {"spaces after the header", std::string(kOne) + "  ", 4, ""},
      {"tab before the header", "\t" + std::string(kOne), 4, ""},
      {"tab after the header", std::string(kOne) + "\t", 4, ""},
      {"line feed before the header", "\n" + std::string(kOne), 4, ""},
      {"line feed after the header", std::string(kOne) + "\n", 4, ""},
      {"carriage return before the header", "\r" + std::string(kOne), 4, ""},
      {"carriage return after the header", std::string(kOne) + "\r", 4, ""},
      {"white space everywhere", " {\n\"w\"\t:\r{ \"dtype\" : \"U8\" , \"shape\" : [ 2 , 2 ] , \"data_offsets\" : [ 0 , 4 ] } } ", 4, ""},
      {"header of 4096 bytes of white space", std::string(4096, ' ') + kOne, 4, ""},
      {"sub-byte F4 that ends on a byte", R"({"w":{"dtype":"F4","shape":[2,3],"data_offsets":[0,3]}})", 3, ""},
      {"sub-byte F6_E2M3 that ends on a byte", R"({"w":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[0,3]}})", 3, ""},
      {"sub-byte F6_E3M2 that ends on a byte", R"({"w":{"dtype":"F6_E3M2","shape":[8],"data_offsets":[0,6]}})", 6, ""},
      {"nesting of 127", "{\"w\":{" + kGood + ",\"x\":" + std::string(125, '[') + std::string(125, ']') + "}}", 4, ""},
      {"nesting of 127 in objects", "{\"w\":{" + kGood + ",\"x\":" + Repeat("{\"a\":", 125) + "1" + std::string(125, '}') + "}}", 4, ""},
      {"rank 100000", "{\"w\":{\"dtype\":\"U8\",\"data_offsets\":[0,1],\"shape\":[1" + Repeat(",1", 99999) + "]}}", 1, ""},

      // The JSON is not sound.
      {"empty header", R"()", 0, "not an object"},
      {"an open brace", R"({)", 0, "ends too early"},
      {"only white space", R"(  )", 0, "not an object"},
      {"root array", R"([])", 0, "header is an array"},
      {"root string", R"("a")", 0, "header is a string"},
      {"root null", R"(null)", 0, "header is null"},
      {"root number", R"(1)", 0, "header is a number"},
      {"root true", R"(true)", 0, "header is a truth value"},
      {"root word", R"(nil)", 0, "header is null"},
      {"trailing garbage", R"({}x)", 0, "after the end"},
      {"second document", R"({}{})", 0, "after the end"},
      {"NUL padding", std::string("{}\0\0", 4), 0, "after the end"},
      {"NUL before", std::string("\0{}", 3), 0, "expected a value"},
      {"form feed before", "\f{}", 0, "expected a value"},
      {"no-break space after", "{}\xc2\xa0", 0, "after the end"},
      {"byte order mark", "\xef\xbb\xbf{}", 0, "expected a value"},
      {"trailing comma", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},})", 4, "expected a key"},
      {"trailing comma in a shape", R"({"w":{"dtype":"U8","shape":[4,],"data_offsets":[0,4]}})", 4, "whole number"},
      {"leading comma", R"({,"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4, "expected a key"},
      {"missing comma", R"({"w":{"dtype":"U8" "shape":[4],"data_offsets":[0,4]}})", 4, "expected ','"},
      {"missing colon", R"({"w"{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4, "expected ':'"},
      {"comment", R"({/**/})", 0, "expected a key"},
      {"single quotes", R"({'w':{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4, "expected a key"},
      {"key that is no string", R"({1:{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4, "expected a key"},
      {"wrong closing bracket", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]]})", 4, "expected ','"},
      {"cut within a string", R"({"w)", 0, "ends too early"},
      {"cut within an escape", R"({"w\)", 0, "ends too early"},
      {"cut within a number", R"({"w":{"dtype":"U8","shape":[4)", 0, "ends too early"},
      {"raw newline in a string", "{\"a\nb\":{" + kGood + "}}", 4, "control character"},
      {"raw NUL in a string", std::string("{\"a\0b\":", 7) + "{" + kGood + "}}", 4, "control character"},
      {"unknown escape", R"({"\x41":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4, "unknown escape"},
      {"short unicode escape", R"({"\u41":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4, "hexadecimal"},
      {"unicode escape with a sign", R"({"\u+041":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4, "hexadecimal"},
      {"lone high surrogate", R"({"\ud800":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4, "lone surrogate"},
      {"lone low surrogate", R"({"\udc00":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4, "lone surrogate"},
      {"high surrogate and a letter", R"({"\ud800\u0041":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4, "lone surrogate"},
      {"two high surrogates", R"({"\ud800\ud800":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4, "lone surrogate"},
      {"lone surrogate in an unknown field", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":"\ud800"}})", 4, "lone surrogate"},
      {"lone surrogate in metadata", R"({"__metadata__":{"a":"\ud800"}})", 0, "lone surrogate"},
      {"not UTF-8: stray continuation byte", "{\"" "\x80" "\":{" + kGood + "}}", 4, "not valid UTF-8"},
      {"not UTF-8: overlong slash", "{\"" "\xc0\xaf" "\":{" + kGood + "}}", 4, "not valid UTF-8"},
      {"not UTF-8: overlong in three bytes", "{\"" "\xe0\x80\xaf" "\":{" + kGood + "}}", 4, "not valid UTF-8"},
      {"not UTF-8: encoded surrogate", "{\"" "\xed\xa0\x80" "\":{" + kGood + "}}", 4, "not valid UTF-8"},
      {"not UTF-8: above U+10FFFF", "{\"" "\xf4\x90\x80\x80" "\":{" + kGood + "}}", 4, "not valid UTF-8"},
      {"not UTF-8: byte 0xff", "{\"" "\xff" "\":{" + kGood + "}}", 4, "not valid UTF-8"},
      {"not UTF-8: sequence cut short", "{\"" "\xe2\x82" "\":{" + kGood + "}}", 4, "not valid UTF-8"},
      {"unknown field of NaN", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":NaN}})", 4, "expected a value"},
      {"unknown field of Infinity", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":Infinity}})", 4, "expected a value"},
      {"unknown field of nul", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":nul}})", 4, "expected a value"},
      {"unknown field of True", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":True}})", 4, "expected a value"},
      {"unknown field of 0x10", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":0x10}})", 4, "expected ','"},
      {"unknown field of +1", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":+1}})", 4, "expected a value"},
      {"unknown field of .5", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":.5}})", 4, "expected a value"},
      {"unknown field of 1.", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":1.}})", 4, "expected a digit"},
      {"unknown field of 01", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":01}})", 4, "leading zero"},
      {"unknown field of -", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":-}})", 4, "expected a digit"},
      {"unknown field of -01", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":-01}})", 4, "leading zero"},
      {"unknown field of 1e", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":1e}})", 4, "expected a digit"},
      {"unknown field of 1e+", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":1e+}})", 4, "expected a digit"},
      {"unknown field of --1", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":--1}})", 4, "expected a digit"},
      {"unknown field of tru", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":tru}})", 4, "expected a value"},
      {"unknown field of 1e309 is beyond a double", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":1e309}})", 4, "out of range"},
      {"unknown field of -1e400 is beyond a double", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":-1e400}})", 4, "out of range"},
      {"unknown field of 1.8e308 is beyond a double", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":1.8e308}})", 4, "out of range"},
      {"unknown field of 309 nines", "{\"w\":{" + kGood + ",\"x\":" + std::string(309, '9') + "}}", 4, "out of range"},
      {"nesting of 128", "{\"w\":{" + kGood + ",\"x\":" + std::string(126, '[') + std::string(126, ']') + "}}", 4, "nested more than 127 deep"},
      {"nesting of 100000 arrays", "{\"w\":{" + kGood + ",\"x\":" + std::string(100000, '[') + std::string(100000, ']') + "}}", 4, "nested more than 127 deep"},
      {"nesting of 100000 objects", Repeat("{\"a\":", 100000), 0, "nested more than 127 deep"},
      {"100000 brackets alone", std::string(100000, '['), 0, "header is an array"},

      // Duplicates.
      {"tensor name twice", R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"w":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", 2, "tensor 'w': name occurs twice"},
      {"tensor name twice through an escape", R"({"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"\u0074":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", 2, "tensor 't': name occurs twice"},
      {"tensor name twice on one range", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4, "tensor 'w': name occurs twice"},
      {"dtype twice", R"({"w":{"dtype":"U8","dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4, "tensor 'w': field 'dtype' occurs twice"},
      {"shape twice", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"shape":[4]}})", 4, "field 'shape' occurs twice"},
      {"data_offsets twice through an escape", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"data\u005foffsets":[0,4]}})", 4, "field 'data_offsets' occurs twice"},
      {"unknown field twice", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":1,"y":1,"x":2}})", 4, "tensor 'w': key 'x' occurs twice"},
      {"unknown field twice through an escape", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":1,"\u0078":2}})", 4, "key 'x' occurs twice"},
      {"key of an ignored object twice", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":{"a":1,"b":2,"a":3}}})", 4, "key 'a' occurs twice"},
      {"key of a deeply ignored object twice", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"x":[1,{"y":[{"a":{},"\u0061":{}}]}]}})", 4, "key 'a' occurs twice"},
      {"metadata twice", R"({"__metadata__":{},"__metadata__":{}})", 0, "key '__metadata__' occurs twice"},
      {"metadata null twice", R"({"__metadata__":null,"__metadata__":null})", 0, "key '__metadata__' occurs twice"},
      {"metadata twice through an escape", R"({"__metadata__":{},"__metadata\u005f_":{}})", 0, "key '__metadata__' occurs twice"},
      {"metadata key twice", R"({"__metadata__":{"a":"1","b":"2","a":"3"}})", 0, "'__metadata__': key 'a' occurs twice"},
      {"metadata key twice through an escape", R"({"__metadata__":{"a":"1","\u0061":"1"}})", 0, "'__metadata__': key 'a' occurs twice"},
      {"empty key twice", R"({"__metadata__":{"":"1","":"1"}})", 0, "key '' occurs twice"},

      // Metadata of another form.
      {"metadata is an array", R"({"__metadata__":[]})", 0, "'__metadata__' is an array"},
      {"metadata is a string", R"({"__metadata__":"a"})", 0, "'__metadata__' is a string"},
      {"metadata is a number", R"({"__metadata__":1})", 0, "'__metadata__' is a number"},
      {"metadata is a truth value", R"({"__metadata__":true})", 0, "'__metadata__' is a truth value"},
      {"metadata value is a number", R"({"__metadata__":{"a":1}})", 0, "value of 'a' is a number"},
      {"metadata value is null", R"({"__metadata__":{"a":null}})", 0, "value of 'a' is null"},
      {"metadata value is an object", R"({"__metadata__":{"a":{}}})", 0, "value of 'a' is an object"},
      {"metadata value is an array", R"({"__metadata__":{"a":["a"]}})", 0, "value of 'a' is an array"},
      {"metadata value is a truth value", R"({"__metadata__":{"a":false}})", 0, "value of 'a' is a truth value"},

      // Entries of another form.
      {"entry is an array", R"({"w":["U8",[4],[0,4]]})", 4, "tensor 'w': entry is an array"},
      {"entry is a string", R"({"w":"a"})", 0, "tensor 'w': entry is a string"},
      {"entry is null", R"({"w":null})", 0, "tensor 'w': entry is null"},
      {"entry is a number", R"({"w":1})", 0, "tensor 'w': entry is a number"},
      {"entry is a truth value", R"({"w":false})", 0, "tensor 'w': entry is a truth value"},
      {"entry is empty", R"({"w":{}})", 0, "tensor 'w': field 'dtype' is missing"},
      {"dtype missing", R"({"w":{"shape":[4],"data_offsets":[0,4]}})", 4, "field 'dtype' is missing"},
      {"shape missing", R"({"w":{"dtype":"U8","data_offsets":[0,4]}})", 4, "field 'shape' is missing"},
      {"data_offsets missing", R"({"w":{"dtype":"U8","shape":[0]}})", 0, "field 'data_offsets' is missing"},
      {"dtype 'F7'", R"({"w":{"dtype":"F7","shape":[4],"data_offsets":[0,4]}})", 4, "tensor 'w': unknown dtype 'F7'"},
      {"dtype 'u8'", R"({"w":{"dtype":"u8","shape":[4],"data_offsets":[0,4]}})", 4, "tensor 'w': unknown dtype 'u8'"},
      {"dtype 'U8 '", R"({"w":{"dtype":"U8 ","shape":[4],"data_offsets":[0,4]}})", 4, "tensor 'w': unknown dtype 'U8 '"},
      {"dtype ''", R"({"w":{"dtype":"","shape":[4],"data_offsets":[0,4]}})", 4, "tensor 'w': unknown dtype ''"},
      {"dtype 'F8_E4M3FN'", R"({"w":{"dtype":"F8_E4M3FN","shape":[4],"data_offsets":[0,4]}})", 4, "tensor 'w': unknown dtype 'F8_E4M3FN'"},
      {"dtype 'BFLOAT16'", R"({"w":{"dtype":"BFLOAT16","shape":[4],"data_offsets":[0,4]}})", 4, "tensor 'w': unknown dtype 'BFLOAT16'"},
      {"dtype 'F64 '", R"({"w":{"dtype":"F64 ","shape":[4],"data_offsets":[0,4]}})", 4, "tensor 'w': unknown dtype 'F64 '"},
      {"dtype 'C128'", R"({"w":{"dtype":"C128","shape":[4],"data_offsets":[0,4]}})", 4, "tensor 'w': unknown dtype 'C128'"},
      {"dtype is a number", R"({"w":{"dtype":4,"shape":[4],"data_offsets":[0,4]}})", 4, "dtype is a number"},
      {"dtype is null", R"({"w":{"dtype":null,"shape":[4],"data_offsets":[0,4]}})", 4, "dtype is null"},
      {"dtype is an array", R"({"w":{"dtype":["U8"],"shape":[4],"data_offsets":[0,4]}})", 4, "dtype is an array"},
      {"dtype is an object", R"({"w":{"dtype":{"U8":null},"shape":[4],"data_offsets":[0,4]}})", 4, "dtype is an object"},
      {"shape is a number", R"({"w":{"dtype":"U8","shape":4,"data_offsets":[0,4]}})", 4, "shape is a number"},
      {"shape is null", R"({"w":{"dtype":"U8","shape":null,"data_offsets":[0,4]}})", 4, "shape is null"},
      {"shape is a string", R"({"w":{"dtype":"U8","shape":"4","data_offsets":[0,4]}})", 4, "shape is a string"},
      {"shape is an object", R"({"w":{"dtype":"U8","shape":{},"data_offsets":[0,4]}})", 4, "shape is an object"},
      {"dimension 4.0", R"({"w":{"dtype":"U8","shape":[4.0],"data_offsets":[0,4]}})", 4, "tensor 'w': shape: header, byte"},
      {"dimension 4e0", R"({"w":{"dtype":"U8","shape":[4e0],"data_offsets":[0,4]}})", 4, "tensor 'w': shape: header, byte"},
      {"dimension 4E0", R"({"w":{"dtype":"U8","shape":[4E0],"data_offsets":[0,4]}})", 4, "tensor 'w': shape: header, byte"},
      {"dimension -0", R"({"w":{"dtype":"U8","shape":[-0],"data_offsets":[0,4]}})", 4, "tensor 'w': shape: header, byte"},
      {"dimension -1", R"({"w":{"dtype":"U8","shape":[-1],"data_offsets":[0,4]}})", 4, "tensor 'w': shape: header, byte"},
      {"dimension \"4\"", R"({"w":{"dtype":"U8","shape":["4"],"data_offsets":[0,4]}})", 4, "tensor 'w': shape: header, byte"},
      {"dimension null", R"({"w":{"dtype":"U8","shape":[null],"data_offsets":[0,4]}})", 4, "tensor 'w': shape: header, byte"},
      {"dimension [4]", R"({"w":{"dtype":"U8","shape":[[4]],"data_offsets":[0,4]}})", 4, "tensor 'w': shape: header, byte"},
      {"dimension true", R"({"w":{"dtype":"U8","shape":[true],"data_offsets":[0,4]}})", 4, "tensor 'w': shape: header, byte"},
      {"dimension +4", R"({"w":{"dtype":"U8","shape":[+4],"data_offsets":[0,4]}})", 4, "tensor 'w': shape: header, byte"},
      {"dimension 0.4e1", R"({"w":{"dtype":"U8","shape":[0.4e1],"data_offsets":[0,4]}})", 4, "tensor 'w': shape: header, byte"},
      {"dimension 04", R"({"w":{"dtype":"U8","shape":[04],"data_offsets":[0,4]}})", 4, "leading zero"},
      {"dimension 00", R"({"w":{"dtype":"U8","shape":[00],"data_offsets":[0,0]}})", 0, "leading zero"},
      {"dimension of 2^64", R"({"w":{"dtype":"U8","shape":[18446744073709551616],"data_offsets":[0,4]}})", 4, "number over 64 bits"},
      {"dimension of forty digits", R"({"w":{"dtype":"U8","shape":[1111111111111111111111111111111111111111],"data_offsets":[0,4]}})", 4, "number over 64 bits"},
      {"data_offsets []", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[]}})", 4, "data_offsets are none"},
      {"data_offsets [0]", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0]}})", 4, "data_offsets are one"},
      {"data_offsets [0,4,4]", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4,4]}})", 4, "data_offsets are more than two"},
      {"data_offsets is a number", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":4}})", 4, "data_offsets is a number"},
      {"data_offsets is null", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":null}})", 4, "data_offsets is null"},
      {"data_offsets is an object", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":{"0":4}}})", 4, "data_offsets is an object"},
      {"data_offsets is a string", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":"0,4"}})", 4, "data_offsets is a string"},
      {"data_offsets [0,4.0]", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4.0]}})", 4, "data_offsets: header, byte"},
      {"data_offsets [-0,4]", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[-0,4]}})", 4, "data_offsets: header, byte"},
      {"data_offsets [0,4e0]", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4e0]}})", 4, "data_offsets: header, byte"},
      {"data_offsets [\"0\",\"4\"]", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":["0","4"]}})", 4, "data_offsets: header, byte"},
      {"data_offsets [0,-4]", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,-4]}})", 4, "data_offsets: header, byte"},
      {"data_offsets [null,4]", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[null,4]}})", 4, "data_offsets: header, byte"},

      // Sizes.
      {"two dimensions overflow", R"({"w":{"dtype":"U8","shape":[8589934592,8589934592],"data_offsets":[0,0]}})", 0, "tensor 'w': size of shape and dtype overflows 64 bits"},
      {"overflow that wraps to the right size", R"({"w":{"dtype":"U8","shape":[4294967297,4294967295,4],"data_offsets":[0,4]}})", 4, "overflows"},
      {"overflow before a zero", R"({"w":{"dtype":"U8","shape":[18446744073709551615,2,0],"data_offsets":[0,0]}})", 0, "overflows"},
      {"overflow by the dtype alone", R"({"w":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0]}})", 0, "overflows"},
      {"overflow in bits alone", R"({"w":{"dtype":"U8","shape":[2305843009213693952],"data_offsets":[0,2305843009213693952]}})", 0, "overflows"},
      {"overflow by many small dimensions", "{\"w\":{\"dtype\":\"U8\",\"data_offsets\":[0,0],\"shape\":[2" + Repeat(",2", 64) + "]}}", 0, "overflows"},
      {"F4 of one element", R"({"w":{"dtype":"F4","shape":[1],"data_offsets":[0,1]}})", 1, "do not end on a byte"},
      {"F4 of fifteen elements", R"({"w":{"dtype":"F4","shape":[3,5],"data_offsets":[0,8]}})", 8, "do not end on a byte"},
      {"F6 of two elements", R"({"w":{"dtype":"F6_E2M3","shape":[2],"data_offsets":[0,2]}})", 2, "do not end on a byte"},
      {"F4 with one byte an element", R"({"w":{"dtype":"F4","shape":[4],"data_offsets":[0,4]}})", 4, "shape needs 2 bytes, data_offsets span 4"},
      {"shape larger than the offsets", R"({"w":{"dtype":"F32","shape":[4],"data_offsets":[0,12]}})", 12, "tensor 'w': shape needs 16 bytes, data_offsets span 12"},
      {"shape smaller than the offsets", R"({"w":{"dtype":"U8","shape":[3],"data_offsets":[0,4]}})", 4, "shape needs 3 bytes, data_offsets span 4"},
      {"zero-size shape with data", R"({"w":{"dtype":"U8","shape":[0],"data_offsets":[0,4]}})", 4, "shape needs 0 bytes, data_offsets span 4"},
      {"rank 0 without data", R"({"w":{"dtype":"U8","shape":[],"data_offsets":[0,0]}})", 0, "shape needs 1 bytes, data_offsets span 0"},
      {"rank 8 with an end beyond the file", R"({"w":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1],"data_offsets":[0,1000000000]}})", 1, "shape needs 1 bytes"},

      // Where the data lie.
      {"hole at the start", R"({"w":{"dtype":"U8","shape":[3],"data_offsets":[1,4]}})", 4, "tensor 'w': hole in the data: begins at 1, the data before end at 0"},
      {"hole in the middle", R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})", 3, "tensor 'b': hole in the data: begins at 2, the data before end at 1"},
      {"overlap in part", R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})", 3, "tensor 'b': overlap in the data: begins at 1, the data before end at 2"},
      {"overlap in full", R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 4, "tensor 'b': overlap in the data: begins at 0"},
      {"overlap inside another", R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", 4, "tensor 'b': overlap in the data"},
      {"zero-size tensor inside another", R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[0],"data_offsets":[1,1]}})", 2, "tensor 'b': overlap in the data"},
      {"zero-size tensor beyond the end", R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[0],"data_offsets":[3,3]}})", 2, "tensor 'b': hole in the data"},
      {"reversed offsets", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[4,0]}})", 4, "tensor 'w': data_offsets end at 0, before they begin at 4"},
      {"reversed offsets whose difference wraps", R"({"w":{"dtype":"U8","shape":[2305843009213693951],"data_offsets":[18446744073709551615,2305843009213693950]}})", 0, "before they begin"},
      {"offsets at the top of 64 bits", R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[18446744073709551614,18446744073709551615]}})", 1, "hole in the data"},
      {"one byte missing", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 3, "tensor 'w': data are cut short: end at 4, the file has 3 bytes of data"},
      {"all data missing", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 0, "data are cut short"},
      {"one trailing byte", R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 5, "trailing bytes: the last tensor ends at 4, the file has 5 bytes of data"},
      {"data without tensors", R"({})", 1, "trailing bytes: the last tensor ends at 0, the file has 1 bytes"},
      {"ten names on one range", TenNamesOnOneRange(), 4, "overlap in the data"},
  };
  // clang-format on
}

}  // namespace wdelta
