// Claims as anybody may write them: every text gives parameters or an error.
#include <boost/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "src/node/dra/allocation.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  boost::json::error_code error;
  const boost::json::value value =
      boost::json::parse({reinterpret_cast<const char*>(data), size}, error);
  if (error) {
    return 0;
  }
  using kgpu::dra::DeviceType;
  (void)kgpu::dra::ParseParameters(value, DeviceType::kGpu, "x");
  (void)kgpu::dra::ParseParameters(value, DeviceType::kMig, "x");
  (void)kgpu::dra::ReadAllocation(value, "u1");
  return 0;
}
