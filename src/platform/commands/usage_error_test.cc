#include "src/platform/commands/usage_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace kgpu::commands {
namespace {

// What a program with a few commands says of a line.
std::string ErrorOf(std::vector<std::string> words) {
  CLI::App app("", "kgpu");
  CLI::App* devices = app.add_subcommand("devices", "");
  std::string output;
  devices->add_option("--output", output, "")->type_name("table|json|yaml");
  devices->add_flag("--watch");
  CLI::App* driver = app.add_subcommand("driver", "");
  driver->add_subcommand("plan", "");
  driver->add_subcommand("status", "");
  std::string shell;
  CLI::App* completion = app.add_subcommand("completion", "");
  completion->add_option("SHELL", shell, "")->required();
  completion->add_flag("--dry-run");
  app.add_subcommand("former", "")->group("");
  std::ranges::reverse(words);
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    return UsageError(app, error, {{"smi", "kgpu devices"}});
  }
  return "no error";
}

// What a command with all sorts of values says of a line: its first line.
struct Fault {
  std::string dir;
  std::string gpu;
  uint32_t code = 0;
  uint32_t times = 0;
  int celsius = 0;
  double factor = 1;
  uint32_t pid = 0;
  uint64_t errors = 0;
  std::string only;
  std::string from;
  std::string kubeconfig;
  std::string user;
  std::string image;
  std::vector<std::string> reasons;
  bool is_down = false;
  bool is_up = false;
  bool is_on = false;
  bool is_off = false;
};

std::string WholeProblemOf(std::vector<std::string> words) {
  CLI::App app("", "kgpu sim");
  CLI::App& xid = *app.add_subcommand("xid", "");
  Fault fault;
  xid.add_option("DIR", fault.dir, "folder of the host")->required();
  xid.add_option("GPU", fault.gpu, "index or UUID")->required();
  xid.add_option("CODE", fault.code, "1 to 999")->required()->check(CLI::Range(1, 999));
  xid.add_option("--times", fault.times, "");
  xid.add_option("--celsius", fault.celsius, "");
  xid.add_option("--factor", fault.factor, "")->check(CLI::Range(0.01, 1e6));
  xid.add_option("--pid", fault.pid, "")->check(CLI::PositiveNumber);
  xid.add_option("--errors", fault.errors, "")->check(CLI::NonNegativeNumber);
  xid.add_option("--only", fault.only, "")->check(CLI::IsMember({"driver", "kernel-log", "both"}));
  xid.add_option("--reason", fault.reasons, "")->type_name("REASON");
  CLI::Option* kubeconfig = xid.add_option("--kubeconfig", fault.kubeconfig, "")->type_name("FILE");
  xid.add_option("--from", fault.from, "")->excludes(kubeconfig);
  CLI::Option* image = xid.add_option("--image", fault.image, "");
  xid.add_option("--user", fault.user, "")->needs(image);
  CLI::Option_group* link = xid.add_option_group("change of the link");
  link->add_flag("--down", fault.is_down);
  link->add_flag("--up", fault.is_up);
  link->require_option(0, 1);
  CLI::Option_group* one = app.add_subcommand("power", "")->add_option_group("one of these");
  one->add_flag("--on", fault.is_on);
  one->add_flag("--off", fault.is_off);
  one->require_option(1);
  std::ranges::reverse(words);
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    return UsageError(app, error);
  }
  return "no error\n";
}

std::string ProblemOf(const std::vector<std::string>& words) {
  const std::string whole = WholeProblemOf(words);
  return whole.substr(0, whole.find('\n'));
}

TEST(UsageErrorTest, OffersTheNearestCommand) {
  EXPECT_EQ(ErrorOf({"devcies"}), "kgpu: unknown command \"devcies\": did you mean devices?");
  EXPECT_EQ(ErrorOf({"driver", "plna", "--offline"}),
            "kgpu driver: unknown command \"plna\": did you mean plan?");
}

TEST(UsageErrorTest, OffersTheCommandThatAWordBegins) {
  EXPECT_EQ(ErrorOf({"comp"}), "kgpu: unknown command \"comp\": did you mean completion?");
}

TEST(UsageErrorTest, WhatBeginsWithTheWordIsOfferedBeforeWhatIsNear) {
  EXPECT_EQ(ErrorOf({"driver", "st"}), "kgpu driver: unknown command \"st\": did you mean status?");
  EXPECT_EQ(ErrorOf({"d"}),
            "kgpu: unknown command \"d\": choose one of devices, driver, completion");
  EXPECT_EQ(ErrorOf({"de"}), "kgpu: unknown command \"de\": did you mean devices?");
}

TEST(UsageErrorTest, LeadsUsualWordsToTheirCommand) {
  EXPECT_EQ(ErrorOf({"smi"}), "kgpu: unknown command \"smi\": did you mean kgpu devices?");
  EXPECT_EQ(ErrorOf({"driver", "smi"}),
            "kgpu driver: unknown command \"smi\": choose one of plan, status");
}

TEST(UsageErrorTest, AFormerNameIsNotOffered) {
  EXPECT_EQ(ErrorOf({"formre"}),
            "kgpu: unknown command \"formre\": choose one of devices, driver, completion");
}

TEST(UsageErrorTest, AnOptionGroupIsNoCommand) {
  EXPECT_EQ(ProblemOf({"power", "down"}),
            "kgpu sim power: unexpected argument \"down\": see kgpu sim power --help");
}

TEST(UsageErrorTest, TheLetterOfNamespacesIsNotThatOfDryRuns) {
  EXPECT_EQ(ErrorOf({"completion", "-n", "bash"}),
            "kgpu completion: unknown flag \"-n\": did you mean --dry-run?");
  EXPECT_EQ(ErrorOf({"devices", "-n"}),
            "kgpu devices: unknown flag \"-n\": see kgpu devices --help");
}

TEST(UsageErrorTest, ListsTheCommandsWhereNoneIsNear) {
  EXPECT_EQ(ErrorOf({"driver", "teapot"}),
            "kgpu driver: unknown command \"teapot\": choose one of plan, status");
}

TEST(UsageErrorTest, OffersTheNearestFlag) {
  EXPECT_EQ(ErrorOf({"devices", "--outptu", "json"}),
            "kgpu devices: unknown flag \"--outptu\": did you mean --output?");
  EXPECT_EQ(ErrorOf({"devices", "--wach=yes"}),
            "kgpu devices: unknown flag \"--wach\": did you mean --watch?");
  EXPECT_EQ(ErrorOf({"devices", "--teapot"}),
            "kgpu devices: unknown flag \"--teapot\": see kgpu devices --help");
}

TEST(UsageErrorTest, AWrongFlagIsNamedBeforeAMissingArgument) {
  EXPECT_EQ(ErrorOf({"completion", "--hepl"}),
            "kgpu completion: unknown flag \"--hepl\": did you mean --help?");
}

TEST(UsageErrorTest, NamesAnArgumentTooMany) {
  EXPECT_EQ(ErrorOf({"devices", "3"}),
            "kgpu devices: unexpected argument \"3\": see kgpu devices --help");
}

TEST(UsageErrorTest, NamesWhatIsMissingAndTheUsage) {
  EXPECT_EQ(ErrorOf({"completion"}),
            "kgpu completion: SHELL is missing: add it\nusage: kgpu completion SHELL [flags]");
  EXPECT_EQ(ErrorOf({"devices", "--output"}),
            "kgpu devices: --output needs a value: table, json or yaml\n"
            "usage: kgpu devices [flags]");
  EXPECT_THAT(WholeProblemOf({"xid"}),
              ::testing::EndsWith("\nusage: kgpu sim xid DIR GPU CODE [flags]"));
}

TEST(UsageErrorTest, SaysPlainlyWhatIsWrongAndWhatIsAllowed) {
  struct Case {
    std::vector<std::string> words;  // after "xid"
    std::string problem;             // after "kgpu sim xid: "
  };
  const std::vector<Case> cases = {
      {{},
       "DIR (folder of the host), GPU (index or UUID) and CODE (1 to 999) are missing: add them"},
      {{"d", "0"}, "CODE (1 to 999) is missing: add it"},
      {{"d", "0", "9999"}, "CODE: \"9999\" must be a number from 1 to 999"},
      {{"d", "0", "many"}, "CODE: \"many\" must be a number from 1 to 999"},
      {{"d", "0", "48", "--factor", "0"}, "--factor: \"0\" must be a number from 0.01 to 1000000"},
      {{"d", "0", "48", "--pid", "0"}, "--pid: \"0\" must be a number, greater than 0"},
      {{"d", "0", "48", "--errors=-1"}, "--errors: \"-1\" must be a number, 0 or more"},
      {{"d", "0", "48", "--times", "few"}, "--times: \"few\" must be a whole number, 0 or more"},
      {{"d", "0", "48", "--celsius", "hot"}, "--celsius: \"hot\" must be a whole number"},
      {{"d", "0", "48", "--times"}, "--times needs a value: a whole number, 0 or more"},
      {{"d", "0", "48", "--kubeconfig"}, "--kubeconfig needs a value: --kubeconfig FILE"},
      {{"d", "0", "48", "--from"}, "--from needs a value: --from VALUE"},
      {{"d", "0", "48", "--only", "disk"}, "--only: \"disk\" must be driver, kernel-log or both"},
      {{"d", "0", "48", "--only"}, "--only needs a value: driver, kernel-log or both"},
      {{"d", "0", "48", "--from", "f", "--from", "g"}, "--from is given 2 times: give it once"},
      {{"d", "0", "48", "--from", "f", "--kubeconfig", "k"},
       "--kubeconfig and --from cannot be combined: leave one out"},
      {{"d", "0", "48", "--user", "u"},
       "--user works only with --image: add --image, or leave out --user"},
      {{"d", "0", "48", "--down", "--up"}, "set only one of --down and --up"},
      {{"d", "0", "48", "--down=maybe"}, "--down takes no value: leave out \"=maybe\""},
  };
  for (const Case& one : cases) {
    std::vector<std::string> words = {"xid"};
    words.insert(words.end(), one.words.begin(), one.words.end());
    EXPECT_EQ(ProblemOf(words), "kgpu sim xid: " + one.problem);
  }
  EXPECT_EQ(ProblemOf({"power"}), "kgpu sim power: set one of --on or --off");
  EXPECT_EQ(ProblemOf({"power", "--on", "--off"}),
            "kgpu sim power: set only one of --on and --off");
}

}  // namespace
}  // namespace kgpu::commands
