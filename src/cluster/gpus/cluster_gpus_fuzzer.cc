// Any objects are counted, and the counts add up.
#include <boost/json.hpp>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "src/cluster/gpus/groups.h"
#include "src/cluster/gpus/summary.h"
#include "src/platform/doc/doc.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace kgpu::gpus;  // NOLINT(google-build-using-namespace): one function
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto list = kgpu::doc::Parse(text, kgpu::doc::Format::kJson, "objects");
  if (!list.ok() || !list->is_array()) {
    return 0;
  }
  SummaryBuilder builder;
  for (const boost::json::value& item : list->get_array()) {
    boost::json::value node = item;
    TrimGpuNode(node);
    builder.AddNode(node);
    boost::json::value pod = item;
    TrimGpuPod(pod);
    builder.AddPod(pod);
    boost::json::value slice = item;
    TrimGpuSlice(slice);
    builder.AddSlice(slice);
    boost::json::value claim = item;
    TrimGpuClaim(claim);
    builder.AddClaim(claim);
  }
  const Summary summary = builder.Build();
  for (const NodePool& pool : summary.pools) {
    const Counts& counts = pool.counts;
    if (counts.used + counts.free + counts.unhealthy + counts.cordoned != counts.total) {
      std::abort();
    }
  }
  for (const GroupBy by : {GroupBy::kNode, GroupBy::kModel, GroupBy::kPool, GroupBy::kNamespace}) {
    SummaryTable(summary, by);
    SummaryJson(summary, by);
  }
  return 0;
}
