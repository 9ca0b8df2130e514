#include "src/node/mig/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::mig {
namespace {

using ::testing::HasSubstr;

TEST(RecordTest, ReadsWhatItPrints) {
  const auto uuid = device::GpuUuid::Parse("GPU-00000000-0000-0000-0000-000000000001");
  ASSERT_OK(uuid);
  std::vector<Target> before;
  before.push_back({.uuid = *uuid, .is_mig_enabled = true});
  before[0].layout = {{.kind = {.profile = "3g.40gb", .compute = {2, 1}}, .start = 4},
                      {.kind = {.profile = "1g.10gb"}, .start = 0}};
  before.push_back({.uuid = *uuid, .is_mig_enabled = false});
  before.push_back({.uuid = *uuid, .is_mig_enabled = false, .is_pending_enabled = true});
  const auto read = ParseRecord(PrintRecord(before), "mig.json");
  ASSERT_OK(read);
  ASSERT_EQ(read->size(), 3U);
  EXPECT_EQ((*read)[0].layout, before[0].layout);
  EXPECT_EQ((*read)[0].uuid, *uuid);
  EXPECT_FALSE((*read)[1].is_mig_enabled);
  EXPECT_EQ((*read)[1].is_pending_enabled, std::nullopt);
  EXPECT_EQ((*read)[2].is_pending_enabled, true);
}

TEST(RecordTest, NamesTheFieldThatIsWrong) {
  const auto text = [](const std::string& gpus) {
    const std::string whole = PrintRecord({});
    std::string changed = whole;
    changed.replace(changed.find("[]"), 2, gpus);
    return std::string(Message(ParseRecord(changed, "mig.json").status()));
  };
  EXPECT_THAT(text("{}"), HasSubstr("mig.json.gpus: must be a list of GPUs"));
  EXPECT_THAT(text(R"([{"uuid": "x", "mig": true, "instances": []}])"),
              HasSubstr("mig.json: gpus[0].uuid"));
  EXPECT_THAT(text(R"([{"uuid": "GPU-00000000-0000-0000-0000-000000000001", "mig": true,
                "instances": [{"profile": "1g.10gb", "start": 99, "compute": []}]}])"),
              HasSubstr("mig.json: gpus[0].instances[0].start: must be a memory slice"));
}

}  // namespace
}  // namespace kgpu::mig
