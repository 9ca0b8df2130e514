#include "src/cli/base/output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kgpu::cli {
namespace {

TEST(OutputTest, WhatIsHealthyIsListedBesideTheFindings) {
  const report::Finding off{.id = "engine-stopped",
                            .subject = "docker",
                            .message = "it is off",
                            .fix = {.commands = {"switch it on"}}};
  EXPECT_EQ(NamedFindingsText({{"docker", {off}}, {"podman", {}}}, "everything is ok"),
            "error    engine-stopped: docker: it is off\n"
            "           switch it on\n"
            "podman: everything is ok\n");
}

TEST(OutputTest, TheWorstFindingIsTheExitCode) {
  EXPECT_EQ(ExitCodeOf(report::Severity::kInfo), ExitCode::kOk);
  EXPECT_EQ(ExitCodeOf(report::Severity::kWarning), ExitCode::kWarned);
  EXPECT_EQ(ExitCodeOf(report::Severity::kError), ExitCode::kUnhealthy);
}

}  // namespace
}  // namespace kgpu::cli
