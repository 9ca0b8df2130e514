// The layout of a slot's file `gate`: when programs of a container may launch kernels.
//
// The agent writes it in place, and containers map it read-only. Time is divided into periods of
// kGatePeriod by the clock of the day, which all containers share; a gate is open during a part of
// each period, so that neighbours do not meet. It is plain C, fixed in size and versioned.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kgpu::preload {

inline constexpr uint32_t kGateMagic = 0x4750474b;  // "KGPG"
inline constexpr uint32_t kGateVersion = 1;
inline constexpr uint64_t kGatePeriod = 50'000'000;  // nanoseconds
inline constexpr uint32_t kGateParts = 10'000;       // of a period: 5 µs each
inline constexpr uint32_t kMaxGateEvery = 255;
// A gate that is not fully open is written at least this often; one that is older holds no more,
// and `fixed` takes its place. Nanoseconds.
inline constexpr uint64_t kGateStale = 5'000'000'000;

struct Gate {
  uint32_t magic;
  uint32_t version;
  uint64_t word;   // a GateTurn, by PackTurn
  uint64_t fixed;  // the same for when nobody writes it
  uint64_t spare[5];
};
static_assert(sizeof(Gate) == 64);
inline constexpr size_t kGateSize = sizeof(Gate);

// When a gate is open: in every `every`th period, from `start` for `open` of its parts.
struct GateTurn {
  uint32_t open = kGateParts;  // kGateParts: always, whatever the others say
  uint32_t start = 0;
  uint32_t every = 1;
  uint32_t beat = 0;   // changes each time it is written; 16 bits
  uint32_t epoch = 0;  // changes when the gate has been open meanwhile; 8 bits, 0: unknown
  bool operator==(const GateTurn&) const = default;
};

// The lowest 16 bits are `open`, so that one comparison finds a gate that is fully open.
constexpr uint64_t PackTurn(const GateTurn& turn) {
  return uint64_t{turn.open} | uint64_t{turn.start} << 16 | uint64_t{turn.every} << 32 |
         uint64_t{turn.beat & 0xffff} << 40 | uint64_t{turn.epoch & 0xff} << 56;
}
constexpr bool IsFullyOpen(uint64_t word) {
  return (word & 0xffff) >= kGateParts;
}
constexpr Gate NewGate(const GateTurn& turn, const GateTurn& fixed) {
  return {.magic = kGateMagic,
          .version = kGateVersion,
          .word = PackTurn(turn),
          .fixed = PackTurn(fixed),
          .spare = {}};
}
// With values in range, whatever the word says: a turn lies within its period, and never has
// nothing.
constexpr GateTurn UnpackTurn(uint64_t word) {
  GateTurn turn{.open = static_cast<uint32_t>(word & 0xffff),
                .start = static_cast<uint32_t>(word >> 16 & 0xffff),
                .every = static_cast<uint32_t>(word >> 32 & 0xff),
                .beat = static_cast<uint32_t>(word >> 40 & 0xffff),
                .epoch = static_cast<uint32_t>(word >> 56)};
  turn.open = turn.open == 0 ? 1 : turn.open > kGateParts ? kGateParts : turn.open;
  turn.start = turn.start > kGateParts - turn.open ? kGateParts - turn.open : turn.start;
  turn.every = turn.every == 0 ? 1 : turn.every;
  return turn;
}

}  // namespace kgpu::preload
