// What this process has been charged for: a table from pointers and handles to sizes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kgpu::preload {

enum class Kind : uint32_t {
  kNone,
  kLinear,    // device or managed memory by its pointer
  kPooled,    // memory of a pool by its pointer; the pool is charged, not this
  kHost,      // pinned memory of the host by its pointer
  kArray,     // arrays and mipmapped arrays by their handles
  kOpened,    // memory of another process by our pointer to it
  kExternal,  // external memory by its handle
  kPhysical,  // memory without an address by its handle
  kMapping,   // an address range with such memory
  kContext,   // contexts by their handles
  kPool,      // pools by their handles
  kExec,      // graphs that can be launched, by their handles
  kReserve,   // stacks, heaps and print buffers of a context, by what cuCtxSetLimit was told
};

struct Record {
  Kind kind;
  uint32_t device;   // whose account is charged: an index of Share
  uint64_t key;      // the pointer or handle
  uint64_t size;     // bytes charged
  uint64_t owner;    // the context, pool or handle that it belongs to
  uint64_t extent;   // what else its kind has to remember: see those who use it
  uint32_t uses;     // of handles: how many times it was retained
  uint32_t is_mine;  // see those who use it
};

// An open-addressed hash table in memory of its own. All zero is empty. Not thread-safe.
class Records {
 public:
  static constexpr size_t kMaxRecords = size_t{1} << 23;
  // Keys from here on are of what has lost its handle: the driver may give that to something new.
  // No pointer of a program is that large.
  static constexpr uint64_t kFirstOrphan = uint64_t{1} << 63;

  // Adds or replaces. False when there is no memory, or the bound is reached.
  bool Add(const Record& record);
  // Null if there is none. Valid until the next call that is not const.
  Record* Find(Kind kind, uint64_t key);
  // Removes the record into `record`; false if there is none.
  bool Take(Kind kind, uint64_t key, Record* record);
  size_t count() const { return count_; }

  // Calls `visit(Record&)` for all; removes those for which it returns true.
  template <typename Visit>
  void RemoveIf(Visit&& visit) {
    for (size_t at = 0; at < capacity_;) {
      if (slots_[at].kind != Kind::kNone && visit(slots_[at])) {
        RemoveAt(at);  // may move another record here
      } else {
        ++at;
      }
    }
  }

 private:
  size_t Slot(Kind kind, uint64_t key) const;
  void RemoveAt(size_t at);
  bool Grow();

  Record* slots_;
  size_t capacity_;  // a power of two, or 0
  size_t count_;
};

}  // namespace kgpu::preload
