#include "src/preload/records.h"

#include "src/preload/system.h"

namespace kgpu::preload {
namespace {

constexpr size_t kFirstCapacity = 1024;

uint64_t HashOf(Kind kind, uint64_t key) {
  uint64_t mixed = (key ^ (static_cast<uint64_t>(kind) << 56)) * 0x9e3779b97f4a7c15;
  mixed ^= mixed >> 32;
  return mixed * 0xd6e8feb86659fd93 >> 20;
}

}  // namespace

// Where the record is, or where it would go. There is always an empty slot.
size_t Records::Slot(Kind kind, uint64_t key) const {
  size_t at = HashOf(kind, key) & (capacity_ - 1);
  while (slots_[at].kind != Kind::kNone && (slots_[at].kind != kind || slots_[at].key != key)) {
    at = (at + 1) & (capacity_ - 1);
  }
  return at;
}

bool Records::Grow() {
  const size_t wanted = capacity_ == 0 ? kFirstCapacity : capacity_ * 2;
  if (wanted > 2 * kMaxRecords) {
    return false;
  }
  // Forked children get a table of their own by starting over, so a fork may copy this one.
  auto* memory = static_cast<Record*>(MapMemory(wanted * sizeof(Record), false));
  if (memory == nullptr) {
    return false;
  }
  Record* old = slots_;
  const size_t old_capacity = capacity_;
  slots_ = memory;
  capacity_ = wanted;
  for (size_t at = 0; at < old_capacity; ++at) {
    if (old[at].kind != Kind::kNone) {
      slots_[Slot(old[at].kind, old[at].key)] = old[at];
    }
  }
  if (old != nullptr) {
    UnmapMemory(old, old_capacity * sizeof(Record));
  }
  return true;
}

bool Records::Add(const Record& record) {
  if ((count_ + 1) * 4 > capacity_ * 3 && !Grow() && count_ + 1 >= capacity_) {
    return false;  // one slot is always empty
  }
  Record& slot = slots_[Slot(record.kind, record.key)];
  count_ += slot.kind == Kind::kNone ? 1 : 0;
  slot = record;
  return true;
}

Record* Records::Find(Kind kind, uint64_t key) {
  if (count_ == 0) {
    return nullptr;
  }
  Record& slot = slots_[Slot(kind, key)];
  return slot.kind == Kind::kNone ? nullptr : &slot;
}

bool Records::Take(Kind kind, uint64_t key, Record* record) {
  const Record* found = Find(kind, key);
  if (found == nullptr) {
    return false;
  }
  *record = *found;
  RemoveAt(static_cast<size_t>(found - slots_));
  return true;
}

// Moves later records of the same run back, so that no search meets a hole too early.
void Records::RemoveAt(size_t at) {
  --count_;
  const size_t mask = capacity_ - 1;
  size_t hole = at;
  for (size_t next = (at + 1) & mask; slots_[next].kind != Kind::kNone; next = (next + 1) & mask) {
    const size_t home = HashOf(slots_[next].kind, slots_[next].key) & mask;
    if (((next - home) & mask) >= ((next - hole) & mask)) {
      slots_[hole] = slots_[next];
      hole = next;
    }
  }
  slots_[hole] = Record{};
}

}  // namespace kgpu::preload
