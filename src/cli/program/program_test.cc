#include "src/cli/program/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "src/cluster/chart/chart.h"
#include "src/kube/api/json.h"
#include "src/platform/commands/examples.h"
#include "src/platform/commands/man_page.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::cli {
namespace {

using commands::Command;
using commands::Example;

// Calls `visit` with every command and the words to it, "kgpu driver plan".
void EachCommand(const Command& command, const std::string& words,
                 const std::function<void(const Command&, const std::string&)>& visit) {
  visit(command, words);
  for (const Command& child : command.commands) {
    EachCommand(child, words + " " + child.name, visit);
  }
}

// Empty, or why the parser refuses the words.
std::string ParseProblem(const std::vector<std::string>& words) {
  Program program;
  try {
    program.Parse(words);
  } catch (const CLI::Success&) {
    return "";
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "";
}

TEST(ProgramTest, EveryCommandHasAnExampleOfItsOwn) {
  EachCommand(Program().Tree(), "kgpu", [](const Command& command, const std::string& words) {
    const std::vector<Example> examples = commands::ExamplesOf(command.footer);
    EXPECT_TRUE(std::ranges::any_of(examples, [&](const Example& example) {
      return (example.line + " ").find(words + (command.commands.empty() ? " " : "")) !=
             std::string::npos;
    })) << words;
  });
}

TEST(ProgramTest, EveryExampleIsAcceptedByTheParser) {
  size_t count = 0;
  EachCommand(Program().Tree(), "kgpu", [&](const Command& command, const std::string& words) {
    for (const Example& example : commands::ExamplesOf(command.footer)) {
      for (const std::vector<std::string>& call : commands::CallsIn(example.line, "kgpu")) {
        ++count;
        EXPECT_EQ(ParseProblem(call), "") << words << ": " << example.line;
      }
    }
  });
  EXPECT_GT(count, 80U);
}

TEST(ProgramTest, FlagsThatWouldBeIgnoredAreRefused) {
  const std::vector<std::vector<std::string>> lines = {
      {"explain", "pod", "--from", "f", "--kubeconfig", "k"},
      {"explain", "pod", "--from", "f", "--context", "c"},
      {"explain", "pod", "--from", "f", "--kubelet-dir", "d"},
      {"labels", "--kubeconfig", "k"},
      {"labels", "--context", "c"},
      {"labels", "--features", "--explain-rules"},
      {"labels", "--features", "--apply"},
      {"labels", "--explain-rules", "--write-file"},
      {"labels", "--write-file", "--remove-file"},
      {"labels", "--apply", "--remove-file"},
      {"devices", "--hold-down", "1s"},
      {"metrics", "--kubelet-dir", "d"},
      {"node", "clear", "--kubelet-dir", "d"},
      {"cluster", "adopt", "--keep-policies"},
      {"doctor", "--list", "--fix"},
      {"doctor", "--list", "--explain", "pci-no-gpu"},
      {"doctor", "--explain", "pci-no-gpu", "--fix"},
      {"doctor", "--explain", "pci-no-gpu", "--only", "pci-no-gpu"},
      {"doctor", "--node-file", "f", "--kubeconfig", "k"},
      {"doctor", "--node-file", "f", "--node", "n"},
      {"doctor", "image", "app:1", "--pairs"},
      {"doctor", "manifest", "f.yaml", "--list"},
      {"cluster", "render", "--chart", "d", "--for", "k3s"},
      {"cluster", "uninstall", "--delete-policies", "--keep-policies"},
      {"cluster", "render", "--chart", "d", "--kustomize", "e"},
      {"runtime", "configure", "--print", "kubespray", "--restart"},
  };
  for (const std::vector<std::string>& line : lines) {
    EXPECT_NE(ParseProblem(line), "") << testing::PrintToString(line);
  }
}

bool HasFlag(const Command& command, std::string_view name) {
  return std::ranges::any_of(command.flags,
                             [name](const commands::Flag& flag) { return flag.name == name; });
}

// Commands that read no host, neither directly nor from its agent.
constexpr auto kWithoutHost = std::to_array<std::string_view>({
    "kgpu",
    "kgpu cluster adopt",
    "kgpu cluster controller",
    "kgpu cluster gpus",
    "kgpu cluster install",
    "kgpu cluster render",
    "kgpu cluster status",
    "kgpu cluster uninstall",
    "kgpu cluster upgrade",
    "kgpu cluster values",
    "kgpu completion",
    "kgpu completion install",
    "kgpu config check",
    "kgpu config convert",
    "kgpu config defaults",
    "kgpu doctor manifest",
    "kgpu explain claim",
    "kgpu explain reasons",
    "kgpu fn build",
    "kgpu fn check",
    "kgpu fn init",
    "kgpu fn runtime list",
    "kgpu fn schema",
    "kgpu health rules",
    "kgpu help",
    "kgpu labels check",
    "kgpu man",
    "kgpu metrics list",
    "kgpu node adopt",
    "kgpu node label",
    "kgpu node release",
    "kgpu node taint",
    "kgpu node untaint",
    "kgpu run job",
    "kgpu run jupyter",
    "kgpu run list",
    "kgpu run logs",
    "kgpu run shell",
    "kgpu run stop",
    "kgpu sim",
    "kgpu version",
});

TEST(ProgramTest, EveryCommandThatReadsAHostTakesItsRoot) {
  EachCommand(Program().Tree(), "kgpu", [](const Command& command, const std::string& words) {
    const bool is_group = command.flags.size() <= 2;  // --help and --color
    const bool reads_no_host = std::ranges::find(kWithoutHost, words) != kWithoutHost.end();
    EXPECT_NE(HasFlag(command, "--host-root"), is_group || reads_no_host) << words;
  });
}

TEST(ProgramTest, WhoeverAsksTheDriverTakesAllRoots) {
  EachCommand(Program().Tree(), "kgpu", [](const Command& command, const std::string& words) {
    if (HasFlag(command, "--driver-root")) {
      EXPECT_TRUE(HasFlag(command, "--host-root")) << words;
      // Those of the driver's files alone have no path that an engine would read.
      EXPECT_NE(HasFlag(command, "--engine-root"), words.starts_with("kgpu driver ")) << words;
    }
  });
}

TEST(ProgramTest, OutputFormatsAreOffered) {
  EachCommand(Program().Tree(), "kgpu", [](const Command& command, const std::string& words) {
    for (const commands::Flag& flag : command.flags) {
      EXPECT_TRUE(flag.name != "--output" || flag.words.size() >= 2) << words;
    }
  });
}

TEST(ProgramTest, ARelativePathIsRelativeToTheCurrentFolder) {
  Program program("devices");
  program.Parse({"devices", "--host-root", "some/../host", "--run-dir", "run"});
  const CLI::App& devices = *program.app().get_subcommand("devices");
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(devices.get_option("--host-root")->as<std::string>(), here + "/host");
  EXPECT_EQ(devices.get_option("--run-dir")->as<std::string>(), here + "/run");
}

TEST(ProgramTest, ColorIsTakenBeforeAndAfterTheCommand) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--color", "never", "devices"}, {"devices", "--color=never"}}) {
    Program program;
    program.Parse(words);
    EXPECT_EQ(program.color(), "never");
  }
}

// What `command` says of a manual page on its standard input.
std::string SaidOfPage(const std::string& page, const std::string& command) {
  const TempDir dir;
  dir.WriteFile("page.1", page);
  const std::unique_ptr<FILE, int (*)(FILE*)> out(
      popen((command + " " + dir.At("page.1") + " 2>&1 >/dev/null").c_str(), "re"), pclose);
  std::string text(1000, '\0');
  text.resize(fread(text.data(), 1, text.size(), out.get()));
  return text;
}

TEST(ProgramTest, ManualPagesHaveNoWarnings) {
  const std::string known = SaidOfPage("", "groff -man -ww -z");
  if (!known.empty()) {
    GTEST_SKIP() << "no groff here: " << known;
  }
  const std::vector<commands::ManPage> pages = commands::ManPagesOf(Program().Tree(), "kgpu 1.2");
  EXPECT_GT(pages.size(), 40U);
  for (const commands::ManPage& page : pages) {
    EXPECT_EQ(SaidOfPage(page.text, "groff -man -ww -z -Tutf8"), "") << page.name;
  }
}

TEST(ProgramTest, OneCommandAloneIsWhatItIsAmongAll) {
  const Command all = Program().Tree();
  for (const Command& command : all.commands) {
    const Command alone = Program(command.name).Tree();
    const auto same = std::ranges::find_if(
        alone.commands, [&](const Command& other) { return other.name == command.name; });
    ASSERT_NE(same, alone.commands.end()) << command.name;
    EXPECT_EQ(same->flags.size(), command.flags.size()) << command.name;
  }
}

// The commands that the containers of the chart start, "cluster controller".
std::vector<std::string> CommandsOfTheChart() {
  const auto values =
      chart::ReadValues({.settings = {"controller.enabled=true", "functions.enabled=true",
                                      "functions.tokensSecret=tokens"}});
  EXPECT_OK(values);
  const auto manifests = chart::Render(*values);
  EXPECT_OK(manifests);
  std::vector<std::string> commands;
  for (const chart::Manifest& manifest : *manifests) {
    const boost::json::value object = manifest.object;
    const auto* containers = kube::FindField(object, {"spec", "template", "spec", "containers"});
    for (const auto& container : containers ? containers->as_array() : boost::json::array()) {
      std::string words;
      for (const auto& argument : container.at("args").as_array()) {
        if (argument.as_string().starts_with("-")) {
          break;
        }
        words += (words.empty() ? "" : " ") + std::string(argument.as_string());
      }
      commands.push_back(words);
    }
  }
  return commands;
}

TEST(ProgramTest, TheChartStartsCommandsByTheirPresentNames) {
  std::vector<std::string> names;
  EachCommand(Program().Tree(), "kgpu", [&](const Command& command, const std::string& words) {
    if (command.commands.empty()) {
      names.push_back(words.substr(std::string("kgpu ").size()));
    }
  });
  const std::vector<std::string> started = CommandsOfTheChart();
  EXPECT_THAT(started, ::testing::SizeIs(3));
  for (const std::string& command : started) {
    EXPECT_THAT(names, ::testing::Contains(command));
  }
}

TEST(ProgramTest, AGroupWithoutACommandChoosesNothing) {
  Program program;
  program.Parse({"driver"});
  EXPECT_FALSE(program.chosen());
  program.Parse({"driver", "status"});
  EXPECT_TRUE(program.chosen());
}

}  // namespace
}  // namespace kgpu::cli
