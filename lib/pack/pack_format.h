// The bytes of a pack, version 1, as far as writer and reader share them. wdelta-format(5) is the authority.
//
//   header    magic, u16 version, u16 zero, u32 required flags, u32 optional flags
//   sections  u8 type, varint length of the body, body:
//     'L'     the layout                        exactly one, first
//     'B'     a block of a file or a tensor     any number
//     'I'     the index                         exactly one, after the last block
//     'E'     the end                           exactly one, last: u64 offset of the index section, u64 length and
//                                               SHA-256 of all bytes before this section, magic again
#pragma once

#include <array>

#include "pack/container.h"

namespace wdelta {

// A byte that is no ASCII, the name, then line ends and a control-Z: a transfer that meddles with text breaks it.
inline constexpr std::array<uint8_t, 8> kPackMagic = {0x89, 'W', 'D', 'P', '\r', '\n', 0x1a, '\n'};
inline constexpr uint16_t kPackVersion = 1;
inline constexpr uint32_t kAnchorFlag = 1;  // required: a whole checkpoint, there is no base

inline constexpr size_t kPackHeaderBytes = 20;
inline constexpr size_t kEndBodyBytes = 56;
inline constexpr size_t kEndSectionBytes = 2 + kEndBodyBytes;

inline constexpr uint8_t kLayoutSection = 'L', kBlockSection = 'B', kIndexSection = 'I', kEndSection = 'E';

// Set in a block's codec byte when it has an old block.
inline constexpr uint8_t kHasOldFlag = 0x80;

// Where the blocks of one file or tensor lie: sections one after the other.
struct StreamPlace {
  uint64_t offset = 0, bytes = 0;
};

}  // namespace wdelta
