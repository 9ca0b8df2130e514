#include "testing/cuda/ranges.h"

#include <cstdlib>
#include <cstring>

#include "testing/cuda/library.h"

namespace kgpu::simcuda {
namespace {

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): see library.h
constinit RangeTable table{};

// The number of ranges that start at `address` or below.
uint32_t CountUpTo(uint64_t address) {
  uint32_t low = 0;
  uint32_t high = table.count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (table.items[middle]->start <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

bool Grow() {
  if (table.count < table.capacity) {
    return true;
  }
  const uint32_t capacity = table.capacity == 0 ? 64 : table.capacity * 2;
  void* bigger = realloc(static_cast<void*>(table.items), capacity * sizeof(Range*));
  if (bigger == nullptr) {
    return false;
  }
  table.items = static_cast<Range**>(bigger);
  table.capacity = capacity;
  return true;
}

}  // namespace

RangeTable& Ranges() {
  return table;
}

Range* FindRange(uint64_t address) {
  // A kernel that runs asks about the same range over and over.
  if (table.last_found != nullptr && address - table.last_found->start < table.last_found->size) {
    return table.last_found;
  }
  const uint32_t count = CountUpTo(address);
  Range* found = count == 0 ? nullptr : table.items[count - 1];
  if (found == nullptr || address - found->start >= found->size) {
    return nullptr;
  }
  table.last_found = found;
  return found;
}

Range* FindStart(uint64_t address) {
  Range* found = FindRange(address);
  return found != nullptr && found->start == address ? found : nullptr;
}

bool HasRangeIn(uint64_t start, uint64_t size) {
  const uint32_t count = CountUpTo(start);
  const bool is_below_near =
      count > 0 && start - table.items[count - 1]->start < table.items[count - 1]->size;
  const bool is_above_near = count < table.count && table.items[count]->start - start < size;
  return is_below_near || is_above_near;
}

Range* AddRange(const Range& range) {
  auto* made = static_cast<Range*>(malloc(sizeof(Range)));
  if (made == nullptr || !Grow()) {
    free(made);
    return nullptr;
  }
  *made = range;
  made->id = ++State().last_id;
  made->context_id = range.context == nullptr ? 0 : range.context->id;
  const uint32_t place = CountUpTo(range.start);
  memmove(static_cast<void*>(table.items + place + 1), static_cast<void*>(table.items + place),
          (table.count - place) * sizeof(Range*));
  table.items[place] = made;
  ++table.count;
  return made;
}

void RemoveRange(Range* range) {
  const uint32_t place = CountUpTo(range->start) - 1;
  memmove(static_cast<void*>(table.items + place), static_cast<void*>(table.items + place + 1),
          (table.count - place - 1) * sizeof(Range*));
  --table.count;
  table.last_found = nullptr;
  free(range);
}

}  // namespace kgpu::simcuda
