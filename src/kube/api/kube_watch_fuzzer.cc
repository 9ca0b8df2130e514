// What a client reads from the bytes of a watch does not depend on how they are split into pieces.
// The first byte is the size of the pieces.
#include <algorithm>
#include <boost/json/value.hpp>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "src/kube/api/json.h"
#include "src/kube/api/object_cache.h"
#include "src/kube/api/watch_frames.h"

namespace {

std::string ReadOf(std::string_view bytes, size_t step) {
  kgpu::kube::WatchFrames frames("GET /watch", 2048);
  kgpu::kube::ObjectCache cache;
  std::string seen;
  kgpu::Status status;
  for (size_t begin = 0; begin < bytes.size() && status.ok(); begin += step) {
    status = frames.Feed(bytes.substr(begin, step), [&](auto type, boost::json::value&& object) {
      seen += fmt::format("{} {} {}\n", static_cast<int>(type), kgpu::kube::KeyOf(object),
                          kgpu::kube::BodyOf(object));
      if (type == kgpu::kube::WatchEventType::kDeleted) {
        cache.Remove(object);
      } else {
        cache.Put(std::move(object));
      }
      return true;
    });
  }
  if (status.ok()) {
    seen += frames.IsBetweenEvents() ? "whole" : "torn";
  }
  cache.Replace({});
  if (cache.bytes() != 0) {
    std::abort();
  }
  return seen + std::string(kgpu::Message(status));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string whole = ReadOf(bytes, std::max<size_t>(bytes.size(), 1));
  if (ReadOf(bytes, size_t{data[0]} + 1) != whole || ReadOf(bytes, 1) != whole) {
    std::abort();
  }
  return 0;
}
