// The inputs below src/container/engine/testdata/edits, edited and then read by the real engines:
// what they print of them must say what was asked for.
#include <gtest/gtest.h>
#include <boost/json.hpp>

#include <fmt/format.h>

#include "src/container/engine/config_edit.h"
#include "src/container/engine/test_edit_cases.h"
#include "src/platform/edit/document.h"
#include "src/platform/sys/run.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"
#include "tests/engines/programs.h"

namespace kgpu::engines {
namespace {

using engine::EditCase;

// dockerd is right to refuse it: a key that no dockerd has is part of the case.
constexpr std::string_view kUnknownKeys = "docker-many-keys";

std::string WithFolder(std::string text, const std::string& folder) {
  constexpr std::string_view kFolder = "/etc/containerd";
  for (size_t at = text.find(kFolder); at != std::string::npos; at = text.find(kFolder, at)) {
    text.replace(at, kFolder.size(), folder);
    at += folder.size();
  }
  return text;
}

// Writes a case's texts as they are after the edit; false when the edit is refused.
bool WriteEdited(const EditCase& c, const TempDir& folder) {
  engine::Texts texts = engine::ReadInputs(c);
  const auto edits = engine::Edit(c, texts);
  if (!edits.ok()) {
    return false;
  }
  for (const engine::FileEdit& file : *edits) {
    texts[engine::Relative(c, file.path)] = file.edit.text;
  }
  for (const auto& [path, text] : texts) {
    folder.WriteFile(path, WithFolder(text, folder.path()));
  }
  return true;
}

sys::RunResult RunProgram(std::vector<std::string> argv) {
  sys::RealRunner runner;
  auto result = runner.Run({.argv = std::move(argv)});
  EXPECT_THAT(result, IsOk());
  return result.ok() ? *std::move(result) : sys::RunResult();
}

// What the CRI plugin's table says, of whichever version the dump is; "" when it does not.
std::string Says(const edit::Document& dump, const edit::Key& below) {
  for (const char* plugin : {"io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime"}) {
    edit::Key key = {"plugins", plugin};
    key.insert(key.end(), below.begin(), below.end());
    if (const boost::json::value* value = dump.Find(key)) {
      return value->is_string() ? std::string(value->get_string()) : boost::json::serialize(*value);
    }
  }
  return "";
}

void ExpectRequest(const EditCase& c, const edit::Document& dump) {
  const auto asks_for = [&c](char letter) {
    return c.settings.find(letter) != std::string_view::npos;
  };
  if (asks_for('r')) {
    EXPECT_EQ(Says(dump, {"containerd", "runtimes", "nvidia", "options", "BinaryName"}),
              engine::NamedRuntime().path);
    EXPECT_EQ(Says(dump, {"containerd", "runtimes", "nvidia", "runtime_type"}),
              "io.containerd.runc.v2");
    EXPECT_NE(Says(dump, {"containerd", "runtimes", "runc", "runtime_type"}), "");
  }
  if (asks_for('d')) {
    EXPECT_EQ(Says(dump, {"containerd", "default_runtime_name"}), "nvidia");
  }
  if (asks_for('c') && !c.name.starts_with("containerd-1.6")) {
    EXPECT_EQ(Says(dump, {"enable_cdi"}), "true");
  }
}

struct Suite {
  Origin origin;
  std::string_view prefix;  // of the cases that are this engine's
};

void PrintTo(const Suite& suite, std::ostream* out) {
  *out << ToString(suite.origin);
}

class ContainerdEditsTest : public ::testing::TestWithParam<Suite> {};

TEST_P(ContainerdEditsTest, SayToContainerdWhatWasAskedFor) {
  const std::string program = FindProgram("containerd", GetParam().origin);
  if (program.empty()) {
    GTEST_SKIP() << "no containerd of " << ToString(GetParam().origin);
  }
  int checked = 0;
  for (const EditCase& c : engine::EditCases()) {
    const TempDir folder;
    if (!c.name.starts_with(GetParam().prefix) || !WriteEdited(c, folder)) {
      continue;
    }
    SCOPED_TRACE(c.name);
    const sys::RunResult dumped =
        RunProgram({program, "--config", folder.At("config.toml"), "config", "dump"});
    ASSERT_TRUE(dumped.IsSuccess()) << dumped.err;
    const auto dump = edit::Document::Open(dumped.out, "dump", edit::Syntax::kToml);
    ASSERT_THAT(dump, IsOk());
    ++checked;
    if (c.name.find("docker-package") != std::string::npos) {
      continue;  // its CRI plugin is disabled, and some versions do not print it then
    }
    ExpectRequest(c, *dump);
  }
  EXPECT_GT(checked, 4);
}

INSTANTIATE_TEST_SUITE_P(Engines, ContainerdEditsTest,
                         ::testing::Values(Suite{Origin::kMachine, "containerd-1.6"},
                                           Suite{Origin::kTrixie, "containerd-1.7"},
                                           Suite{Origin::kForky, "containerd-2.1"}),
                         [](const auto& tested) { return ToString(tested.param.origin); });

TEST(DockerEditsTest, AreValidToDockerd) {
  const std::string program = FindProgram("dockerd", Origin::kTrixie);
  if (program.empty()) {
    GTEST_SKIP() << "no dockerd that can validate: run tests/engines/fetch_suites.sh";
  }
  int checked = 0;
  for (const EditCase& c : engine::EditCases()) {
    const TempDir folder;
    if (!c.name.starts_with("docker-") || c.name == kUnknownKeys || !WriteEdited(c, folder)) {
      continue;
    }
    SCOPED_TRACE(c.name);
    const sys::RunResult validated =
        RunProgram({program, "--validate", "--config-file", folder.At("daemon.json")});
    EXPECT_TRUE(validated.IsSuccess()) << validated.err;
    ++checked;
  }
  EXPECT_GT(checked, 10);
}

}  // namespace
}  // namespace kgpu::engines
