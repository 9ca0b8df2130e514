#include "src/node/choice/saved_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::choice {
namespace {

SavedChoice SomeChoice() {
  SavedChoice saved;
  saved.labels = choice::Labels{{"kgpu.dev/config", "mig"}, {"a", ""}};
  saved.running = {.is_running = true,
                   .name = "mig",
                   .from = "kgpu-configs",
                   .file = "/etc/kgpu/configs/mig",
                   .why = "label kgpu.dev/config=mig"};
  saved.config = config::DefaultNodeConfig();
  saved.config.mig = config::MigStrategy::kMixed;
  return saved;
}

TEST(SavedChoiceTest, ReadsWhatItPrinted) {
  const auto read = ParseSavedChoice(PrintSavedChoice(SomeChoice()));
  ASSERT_OK(read.status());
  EXPECT_EQ(read->labels, SomeChoice().labels);
  EXPECT_EQ(read->running, SomeChoice().running);
  EXPECT_EQ(read->config, SomeChoice().config);
}

TEST(SavedChoiceTest, LabelsMayBeUnknown) {
  SavedChoice saved = SomeChoice();
  saved.labels = std::nullopt;
  const auto read = ParseSavedChoice(PrintSavedChoice(saved));
  ASSERT_OK(read.status());
  EXPECT_EQ(read->labels, std::nullopt);
}

TEST(SavedChoiceTest, RefusesWhatItDidNotWrite) {
  for (const char* text :
       {"", "[]", "{}", R"({"version":2})", R"({"version":1,"config":"pools: 7"})"}) {
    EXPECT_THAT(ParseSavedChoice(text), StatusIs(StatusCode::kInvalidArgument)) << text;
  }
}

}  // namespace
}  // namespace kgpu::choice
