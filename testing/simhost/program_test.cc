// kgpu-sim as its users run it: the real program, a folder of the test's own.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cctype>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "testing/shell.h"
#include "testing/temp_dir.h"

namespace kgpu::simhost {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

Outcome Sim(const std::string& words) {
  return Shell(std::string(KGPU_SIM_PROGRAM) + " " + words);
}

class ProgramTest : public ::testing::Test {
 protected:
  void TearDown() override { Sim("delete " + host_); }

  void Create(const std::string& words) {
    const Outcome created = Sim("create " + host_ + " " + words);
    ASSERT_EQ(created.code, 0) << created.text;
  }
  bool Exists(const std::string& path) const {
    return access((host_ + "/" + path).c_str(), F_OK) == 0;
  }
  std::string Read(const std::string& path) const { return dir_.ReadFile("host/" + path); }

  TempDir dir_;
  std::string host_ = dir_.At("host");
};

TEST_F(ProgramTest, CreatesShowsAndDeletesAHost) {
  Create("--profile 8xA100-SXM4-80GB");
  EXPECT_TRUE(Exists("run/nvidia-persistenced/socket"));
  EXPECT_TRUE(Exists("run/nvidia-fabricmanager/socket"));
  const Outcome status = Sim("status " + host_);
  EXPECT_EQ(status.code, 0);
  EXPECT_THAT(status.text, AllOf(HasSubstr("GPU-5c464ea2-48c9-c007-2c20-3ea7af4f36c8"),
                                 HasSubstr("server   process "), HasSubstr("clients  none")));
  EXPECT_THAT(Sim("status " + host_ + " --output json").text, HasSubstr("\"faults\": []"));
  EXPECT_EQ(Sim("env " + host_).text, "--host-root " + host_ + " --engine-root /\n");
  EXPECT_EQ(Sim("delete " + host_).code, 0);
  EXPECT_FALSE(Exists(""));
}

TEST_F(ProgramTest, ShowsWhichProcessUsesHowMuch) {
  Create("--profile 2xL40S");
  EXPECT_THAT(Sim("status " + host_).text, Not(HasSubstr("MEMORY"))) << "nobody does";
  ASSERT_EQ(Sim("process " + host_ + " 1 --pid 4242 --memory 20Gi").code, 0);
  EXPECT_THAT(Sim("status " + host_).text, ContainsRegex("1 +4242 +20480 MiB +- "));
  EXPECT_THAT(Sim("status " + host_ + " --output json").text,
              AllOf(HasSubstr("\"pid\": 4242"), HasSubstr("\"memory_bytes\": 21474836480")));
}

TEST_F(ProgramTest, FaultsShowInTheStatusUntilHealed) {
  Create("--profile 8xA100-SXM4-80GB");
  for (const std::string words :
       {"xid H 3 48", "ecc H 2 --double 2", "hang H 4 --call nvmlDeviceGetTemperature", "slow H 20",
        "nvlink H 5 3 --down", "temp H 1 60", "util H 1 --gpu 90 --memory 40",
        "throttle H 6 hw-thermal", "process H 1 --pid 4242 --memory 20Gi --sm 40 --mem 10",
        "xid H 3 48 --times 450", "xid H 7 74 --only driver", "process H 1 --pid 4242 --end",
        "lose H 0000:07:00.0"}) {
    std::string full = words;
    const Outcome done = Sim(full.replace(full.find('H'), 1, host_));
    EXPECT_EQ(done.code, 0) << words << ": " << done.text;
    EXPECT_THAT(done.text, HasSubstr(host_ + ": ")) << words;
  }
  const std::string status = Sim("status " + host_).text;
  EXPECT_THAT(status, AllOf(HasSubstr("XID 48"), HasSubstr("2 uncorrected ECC errors"),
                            HasSubstr("nvmlDeviceGetTemperature hangs"),
                            HasSubstr("every call takes 20 ms longer"), HasSubstr("NVLink 3 down"),
                            HasSubstr("throttled"), HasSubstr("lost")));
  ASSERT_EQ(Sim("heal " + host_).code, 0);
  EXPECT_THAT(Sim("status " + host_).text, AllOf(Not(HasSubstr("XID")), Not(HasSubstr("hangs")),
                                                 Not(HasSubstr("down")), Not(HasSubstr("lost"))));
}

TEST_F(ProgramTest, NegativeNumbersAreRefused) {
  Create("--profile 4xT4");
  for (const std::string words :
       {"ecc H 0 --double -4", "ecc H 0 --single=-1", "nvlink H 0 0 --errors -1",
        "process H 0 --pid -1 --memory 1Gi", "set H 0 fan -1"}) {
    std::string full = words;
    const Outcome refused = Sim(full.replace(full.find('H'), 1, host_));
    EXPECT_EQ(refused.code, 2) << words << ": " << refused.text;
  }
  EXPECT_THAT(Sim("status " + host_).text, Not(HasSubstr("ECC")));
}

TEST_F(ProgramTest, TheKernelLogTellsXids) {
  Create("--profile 8xA100-SXM4-80GB");
  const std::string path = host_ + "/dev/kmsg";
  const int log = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(log, 0) << path;
  ASSERT_EQ(Sim("xid " + host_ + " 2 74 --only driver").code, 0);
  ASSERT_EQ(Sim("xid " + host_ + " 2 48 --only kernel-log").code, 0);
  ASSERT_EQ(Sim("lose " + host_ + " 3").code, 0);
  std::string text(65536, '\0');
  const ssize_t size = read(log, text.data(), text.size());
  close(log);
  ASSERT_GT(size, 0);
  text.resize(static_cast<size_t>(size));
  EXPECT_THAT(text, AllOf(HasSubstr("): 48, pid="), HasSubstr("GPU has fallen off the bus."),
                          Not(HasSubstr("): 74,"))));
  EXPECT_THAT(Sim("status " + host_).text, AllOf(HasSubstr("XID 74"), Not(HasSubstr("XID 48"))));
}

TEST_F(ProgramTest, TheTreeFollowsTheDriver) {
  Create("--profile 4xT4 --distro rhel");
  EXPECT_EQ(Sim("unload " + host_).code, 0);
  EXPECT_FALSE(Exists("dev/nvidia0"));
  EXPECT_EQ(Sim("load " + host_ + " --driver 550.54.15").code, 0);
  EXPECT_EQ(Read("sys/module/nvidia/version"), "550.54.15\n");
  EXPECT_TRUE(Exists("usr/lib64/libcuda.so.550.54.15"));
  EXPECT_FALSE(Exists("usr/lib64/libcuda.so.535.104.05"));
  EXPECT_EQ(Sim("unload " + host_).code, 0);
  EXPECT_EQ(Sim("load " + host_ + " --driver 560.35.05 --module-only").code, 0);
  EXPECT_EQ(Read("sys/module/nvidia/version"), "560.35.05\n");
  EXPECT_TRUE(Exists("usr/lib64/libcuda.so.550.54.15"));
  EXPECT_THAT(Sim("status " + host_).text, HasSubstr("differ"));
}

TEST_F(ProgramTest, GpusComeAndGo) {
  Create("--profile 4xT4");
  EXPECT_EQ(Sim("remove " + host_ + " 1").code, 0);
  EXPECT_FALSE(Exists("dev/nvidia1"));
  EXPECT_THAT(Sim("add " + host_ + " --model L40S").text, HasSubstr("NVIDIA L40S at 0000:eb:00.0"));
  EXPECT_TRUE(Exists("dev/nvidia1"));
  EXPECT_EQ(Sim("add " + host_).code, 0);
  EXPECT_TRUE(Exists("dev/nvidia4"));
  EXPECT_EQ(Sim("add " + host_ + " --model L40").code, 1);
}

TEST_F(ProgramTest, WhatIsThereBesidesGpusComesAndGoes) {
  Create("--profile 4xT4 --with gds,imex=2");
  EXPECT_TRUE(Exists("dev/nvidia-fs0"));
  EXPECT_TRUE(Exists("etc/cufile.json"));
  EXPECT_TRUE(Exists("dev/nvidia-caps-imex-channels/channel1"));
  EXPECT_EQ(Sim("with " + host_ + " gdrcopy,mofed").code, 0);
  EXPECT_FALSE(Exists("dev/nvidia-fs0"));
  EXPECT_FALSE(Exists("dev/nvidia-caps-imex-channels"));
  EXPECT_TRUE(Exists("dev/gdrdrv"));
  EXPECT_THAT(Read("proc/devices"),
              AllOf(HasSubstr(" gdrdrv\n"), HasSubstr(" infiniband_verbs\n")));
  EXPECT_EQ(Sim("unload " + host_).code, 0);
  EXPECT_FALSE(Exists("dev/gdrdrv"));
  EXPECT_TRUE(Exists("dev/infiniband/uverbs0"));
  EXPECT_EQ(Sim("with " + host_ + " gpu").code, 2);
}

TEST_F(ProgramTest, MigInstancesComeAndGo) {
  Create("--profile 8xH100-SXM5-80GB");
  EXPECT_EQ(Sim("mig " + host_ + " 0 --enable --create 1g.10gb,3g.40gb").code, 0);
  EXPECT_TRUE(Exists("proc/driver/nvidia/capabilities/gpu0/mig"));
  EXPECT_THAT(Sim("status " + host_).text, HasSubstr("2 instances"));
  EXPECT_EQ(Sim("mig " + host_ + " 0 --destroy all").code, 0);
  EXPECT_THAT(Sim("status " + host_).text, HasSubstr("0 instances"));
  EXPECT_EQ(Sim("mig " + host_ + " 0 --disable").code, 0);
  EXPECT_FALSE(Exists("proc/driver/nvidia/capabilities/gpu0/mig"));
  const Outcome wrong = Sim("mig " + host_ + " 0 --create 9g.99gb");
  EXPECT_NE(wrong.code, 0);
}

TEST_F(ProgramTest, NouveauAndBack) {
  Create("--profile 4xT4");
  EXPECT_EQ(Sim("nouveau " + host_).code, 0);
  EXPECT_THAT(Read("proc/modules"), HasSubstr("nouveau "));
  EXPECT_FALSE(Exists("dev/nvidiactl"));
  EXPECT_THAT(Sim("status " + host_).text, HasSubstr("nouveau uses the GPUs"));
  EXPECT_EQ(Sim("load " + host_).code, 0);
  EXPECT_TRUE(Exists("dev/nvidiactl"));
  EXPECT_THAT(Sim("status " + host_).text, Not(HasSubstr("nouveau")));
}

TEST_F(ProgramTest, AStoppedHostKeepsItsStateAndStartsAgain) {
  Create("--profile 4xT4");
  EXPECT_EQ(Sim("xid " + host_ + " 2 31").code, 0);
  EXPECT_EQ(Sim("stop " + host_).code, 0);
  EXPECT_FALSE(Exists("run/nvidia-persistenced/socket"));
  const Outcome alone = Sim("xid " + host_ + " 2 31");
  EXPECT_EQ(alone.code, 1);
  EXPECT_THAT(alone.text, HasSubstr("no state server is running: run kgpu sim start " + host_));
  EXPECT_EQ(Sim("stop " + host_).code, 1);
  EXPECT_EQ(Sim("start " + host_).code, 0);
  EXPECT_THAT(Sim("status " + host_).text, HasSubstr("XID 31"));
}

TEST_F(ProgramTest, RefusesFoldersThatAreNotItsOwn) {
  dir_.WriteFile("host/precious", "stays");
  const Outcome created = Sim("create " + host_ + " --profile none --force");
  EXPECT_EQ(created.code, 1);
  EXPECT_THAT(created.text, HasSubstr("contains other files (\"precious\"): name an empty folder"));
  EXPECT_EQ(Sim("delete " + host_).code, 1);
  EXPECT_EQ(Read("precious"), "stays");
}

TEST_F(ProgramTest, ReplacesAHostOnlyWithForce) {
  Create("--profile 4xT4");
  const Outcome again = Sim("create " + host_ + " --profile none");
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.text, HasSubstr("a simulated host: replace it with --force"));
  Create("--profile none --force");
  EXPECT_FALSE(Exists("dev/nvidiactl"));
}

TEST_F(ProgramTest, OneOfTwoCreatesAtOnceWins) {
  Outcome outcomes[2];
  {
    const std::jthread first([&] { outcomes[0] = Sim("create " + host_ + " --profile 4xT4"); });
    const std::jthread second([&] { outcomes[1] = Sim("create " + host_ + " --profile 4xT4"); });
  }
  EXPECT_EQ((outcomes[0].code == 0) + (outcomes[1].code == 0), 1)
      << outcomes[0].text << outcomes[1].text;
  EXPECT_THAT(Sim("status " + host_).text, HasSubstr("server   process"));
}

TEST_F(ProgramTest, ManyVerbsAtOnceAllCount) {
  Create("--profile 4xT4");
  {
    std::vector<std::jthread> threads;
    threads.reserve(8);
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([this] { Sim("ecc " + host_ + " 0 --single 1"); });
    }
  }
  EXPECT_THAT(Sim("status " + host_).text, HasSubstr("8 corrected ECC errors"));
}

TEST_F(ProgramTest, WorksWithoutRootAndSaysWhatIsMissing) {
  if (geteuid() != 0 || Shell("setpriv --version").code != 0) {
    GTEST_SKIP() << "needs root and setpriv to become somebody else";
  }
  ASSERT_EQ(Shell("chmod 0777 " + dir_.path()).code, 0);
  if (Shell("setpriv --reuid 65534 --clear-groups test -x " + std::string(KGPU_SIM_PROGRAM)).code !=
      0) {
    GTEST_SKIP() << "the program lies in a folder that others may not enter";
  }
  const Outcome created =
      Shell("setpriv --reuid 65534 --clear-groups " + std::string(KGPU_SIM_PROGRAM) + " create " +
            host_ + " --profile 4xT4");
  EXPECT_EQ(created.code, 0) << created.text;
  EXPECT_THAT(created.text, HasSubstr("device nodes are plain files"));
  EXPECT_TRUE(Exists("dev/nvidia0"));
}

TEST_F(ProgramTest, WrongUseExitsWithTwo) {
  EXPECT_EQ(Sim("create " + host_).code, 2);
  EXPECT_EQ(Sim("create " + host_ + " --profile 8xA100-SXM4-80G").code, 2);
  EXPECT_EQ(Sim("create " + host_ + " --profile 4xT4 --distro plan9").code, 2);
  EXPECT_EQ(Sim("create " + host_ + " --profile 4xT4 --driver newest").code, 2);
  EXPECT_EQ(Sim("xid " + host_ + " 0 1000").code, 2);
  EXPECT_EQ(Sim("status " + host_).code, 1);
  EXPECT_EQ(Sim("--help").code, 0);
  EXPECT_EQ(Sim("create --help").code, 0);
  EXPECT_FALSE(Exists(""));
}

TEST_F(ProgramTest, AGroupWithoutACommandPrintsItsHelp) {
  for (const std::string group : {"", "kubelet", "kubelet inject"}) {
    const Outcome bare = Sim(group);
    EXPECT_EQ(bare.code, 0) << group;
    EXPECT_THAT(bare.text, HasSubstr("Usage: kgpu sim")) << group;
    EXPECT_EQ(bare.text, Sim(group + " --help").text) << group;
  }
}

// The words of a line that completion offers below `words`.
std::vector<std::string> CommandsBelow(const std::string& words) {
  std::vector<std::string> commands;
  std::istringstream lines(Sim("__complete " + words + " ''").text);
  for (std::string line; std::getline(lines, line);) {
    const std::string word = line.substr(0, line.find_first_of("\t "));
    if (!word.empty() && std::isalpha(static_cast<unsigned char>(word.front())) != 0) {
      commands.push_back(words + (words.empty() ? "" : " ") + word);
    }
  }
  return commands;
}

TEST_F(ProgramTest, EveryCommandTeachesByAnExampleOfItsOwn) {
  size_t count = 0;
  for (const std::string group : {"", "kubelet", "kubelet inject"}) {
    for (const std::string& command : CommandsBelow(group)) {
      ++count;
      const std::string help = Sim(command + " --help").text;
      EXPECT_THAT(help, HasSubstr("  kgpu sim " + command)) << command;
      EXPECT_THAT(help, Not(HasSubstr("INT in "))) << command << ": a type of the parser";
      EXPECT_THAT(help, Not(HasSubstr("TEXT:{"))) << command << ": a type of the parser";
    }
  }
  EXPECT_GT(count, 40U);
  EXPECT_THAT(Sim("--help").text, AllOf(HasSubstr("Hosts:"), HasSubstr("Faults and load:")));
}

TEST_F(ProgramTest, TheStatusIsPrintedInThreeFormats) {
  Create("--profile 2xL40S");
  EXPECT_THAT(Sim("status " + host_ + " -o yaml").text, HasSubstr("\nfaults: []\n"));
  EXPECT_THAT(Shell("KGPU_OUTPUT=json " KGPU_SIM_PROGRAM " status " + host_).text,
              HasSubstr("\"faults\": []"));
  const Outcome wrong = Sim("status " + host_ + " --output xml");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.text, HasSubstr("--output: \"xml\" must be table, json or yaml"));
  EXPECT_THAT(Sim("nvlink " + host_ + " 0 0").text,
              HasSubstr("set one of --down, --up and --errors N"));
}

TEST_F(ProgramTest, AFolderThatIsNoHostIsNamedWithWhatIsMissing) {
  const std::string missing = "kgpu sim: " + dir_.path() +
                              ": not a simulated host, .kgpu-sim/host.json is missing: create one "
                              "with kgpu sim create " +
                              dir_.path() + " --profile NAME\n";
  for (const std::string words :
       {"heal D", "xid D 0 48", "ecc D 0 --double 1", "lose D 0", "set D 0 fan 1", "unload D",
        "load D", "nouveau D", "add D", "remove D 0", "with D none", "mig D 0 --enable", "status D",
        "env D", "start D", "stop D", "serve D"}) {
    std::string full = words;
    const Outcome refused = Sim(full.replace(full.find('D'), 1, dir_.path()));
    EXPECT_EQ(refused.code, 1) << words;
    EXPECT_EQ(refused.text, missing) << words;
  }
}

TEST_F(ProgramTest, AProfileIsOfferedByItsBeginning) {
  EXPECT_THAT(Sim("create " + host_ + " --profile 8xA100").text,
              HasSubstr("did you mean \"8xA100-SXM4-80GB\" or \"8xA100-mig\"?"));
}

TEST_F(ProgramTest, TakesAProfileFileWithItsOwnModels) {
  dir_.WriteFile("my/lab.yaml",
                 "name: lab\ndescription: mine\ndriver: {version: 535.104.05, cuda_major: 12, "
                 "cuda_minor: 2}\nkernel: 6.1.0\nnvlink: none\ngpus:\n"
                 "  - {model: Mine, pci: \"0000:01:00.0\"}\n");
  dir_.WriteFile("my/models/Mine.yaml",
                 "name: NVIDIA Mine\nbrand: NVIDIA\narchitecture: ada\n"
                 "compute: {major: 8, minor: 9}\n"
                 "pci: {device: 0x2600, subsystem_device: 1, generation: 4, width: 16}\n"
                 "memory_mib: 1024\nbar1_mib: 256\nmultiprocessors: 1\ncores: 128\n"
                 "bus_width_bits: 64\nclocks_mhz: {graphics: 1, memory: 1, video: 1}\n"
                 "power_watts: {default: 10, least: 10, most: 10}\n"
                 "temperature_celsius: {slowdown: 90, shutdown: 95}\n"
                 "vbios: 1.0\npart_number: 1\n");
  Create("--profile " + dir_.At("my/lab.yaml"));
  ASSERT_EQ(Shell("rm -r " + dir_.At("my")).code, 0);
  EXPECT_EQ(Sim("stop " + host_).code, 0);
  EXPECT_EQ(Sim("start " + host_).code, 0);
  EXPECT_THAT(Sim("status " + host_).text, HasSubstr("NVIDIA Mine"));
}

}  // namespace
}  // namespace kgpu::simhost
