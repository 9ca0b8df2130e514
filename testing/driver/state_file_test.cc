#include "testing/driver/state_file.h"

#include <gmock/gmock.h>

#include <cstring>
#include <string>

#include "testing/driver/faults.h"
#include "testing/driver/sample_state.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::sim {
namespace {

using ::testing::HasSubstr;

TEST(StateFileTest, ComesBackAsItWasSaved) {
  const TempDir dir;
  const auto state = SampleState(3);
  ASSERT_OK(InjectXid(*state, 1, 48));
  ASSERT_OK(SaveState(dir.path(), *state));
  const auto loaded = LoadState(dir.path());
  ASSERT_OK(loaded);
  EXPECT_EQ(std::memcmp(loaded->get(), state.get(), sizeof(SimState)), 0);
}

TEST(StateFileTest, HoldsOnlyTheGpusThereAre) {
  EXPECT_LT(StateBytes(*SampleState(1)).size(), size_t{64} << 10);
}

TEST(StateFileTest, MissingFileIsNotFound) {
  const TempDir dir;
  EXPECT_THAT(LoadState(dir.path()), StatusIs(StatusCode::kNotFound));
}

TEST(StateFileTest, RefusesWhatIsNoState) {
  const auto state = SampleState(2);
  const std::string bytes(StateBytes(*state));
  EXPECT_THAT(ParseState(""), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(ParseState(bytes.substr(0, bytes.size() - 1)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("truncated")));
  EXPECT_THAT(ParseState(bytes + "x"), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(ParseState(std::string(bytes.size(), '\0')),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("not a state")));
}

TEST(StateFileTest, RefusesOtherLayouts) {
  const auto state = SampleState(1);
  state->layout = kStateLayout + 1;
  EXPECT_THAT(ValidateState(*state),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("recreate the host")));
}

TEST(StateFileTest, RefusesWhatClientsWouldReadBeyond) {
  auto state = SampleState(1);
  std::memset(state->gpus[0].uuid, 'x', sizeof(state->gpus[0].uuid));
  EXPECT_THAT(ValidateState(*state), StatusIs(StatusCode::kInvalidArgument, HasSubstr("uuid")));
  state = SampleState(1);
  state->gpus[0].mig.profile_count = kMaxMigProfiles + 1;
  EXPECT_THAT(ValidateState(*state),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("mig.profile_count")));
  state = SampleState(1);
  state->gpu_count = kMaxGpus + 1;
  EXPECT_THAT(ValidateState(*state),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("gpu_count")));
}

}  // namespace
}  // namespace kgpu::sim
