#include "testing/simhost/host_view.h"

#include <fmt/format.h>

#include <set>

#include "src/platform/base/strings.h"

namespace kgpu::simhost {
namespace {

// splitmix64: spreads a counter over all 64 bits. Source: Steele, Lea, Flood, OOPSLA 2014.
uint64_t Mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

uint64_t HashOf(std::string_view profile, uint64_t seed, unsigned index) {
  uint64_t hash = Mix(seed);
  for (const char c : profile) {
    hash = Mix(hash ^ static_cast<unsigned char>(c));
  }
  return Mix(hash ^ index);
}

}  // namespace

DynamicMajors FreeMajors(std::string_view proc_devices) {
  std::set<uint64_t> used;
  for (const std::string_view line : Split(proc_devices, '\n')) {
    const std::vector<std::string_view> words = Words(line);
    if (words.size() < 2) {
      continue;
    }
    if (const auto major = ParseUint(words[0]); major) {
      used.insert(*major);
    }
  }
  unsigned next = 511;
  const auto take = [&] {
    while (used.contains(next)) {
      --next;
    }
    return next--;
  };
  DynamicMajors majors;
  majors.uvm = take();
  majors.caps = take();
  majors.nvswitch = take();
  majors.nvlink = take();
  majors.imex = take();
  majors.gds = take();
  majors.gdrcopy = take();
  majors.infiniband = take();
  return majors;
}

std::string GpuUuid(std::string_view profile, uint64_t seed, unsigned index) {
  const uint64_t high = HashOf(profile, seed, index);
  const uint64_t low = Mix(high);
  return fmt::format("GPU-{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff,
                     high & 0xffff, low >> 48, low & 0xffffffffffff);
}

std::string GpuSerial(std::string_view profile, uint64_t seed, unsigned index) {
  return fmt::format("16{:011}", HashOf(profile, seed, index) % 100'000'000'000);
}

}  // namespace kgpu::simhost
