// Traps of the kubelet that its own test-suite does not set, DF-10 to DF-13 and DF-19: sockets that
// come and go, registrations that hang or are refused.
#include <sys/socket.h>
#include <sys/un.h>

#include <functional>
#include <thread>

#include "tests/integration/plugin_fixture.h"

namespace kgpu::integration {
namespace {

using plugin::EndpointState;
using plugin::EndpointStatus;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class DevicePluginTraps : public PluginFixture {
 protected:
  // No call of `method` came earlier than the pauses before it allow, counted from `begun`. Only
  // lower bounds from one early moment hold on a machine that is late with anything.
  void ExpectPauses(const std::string& method, WallTime begun,
                    const std::function<std::chrono::nanoseconds(size_t)>& pause) const {
    std::chrono::nanoseconds least{0};
    const std::vector<kubelet::CallRecord> calls = CallsOf(method);
    for (size_t i = 0; i < calls.size(); ++i) {
      // The wall clock and the loop's may differ a little.
      EXPECT_GE(calls[i].time - begun, least - milliseconds(2)) << "call " << i;
      least += pause(i);
    }
  }
  bool WaitForAnswer() const {
    return WaitInFolder(Folder(), [&] { return PluginCaller::Connect(Socket()).ok(); });
  }
  // A socket file that nobody listens on, as a killed process leaves it.
  void LeaveDeadSocket(const std::string& path) const {
    const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    ASSERT_LT(path.size(), sizeof(address.sun_path));
    path.copy(address.sun_path, path.size());
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bind(2)'s way
    ASSERT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
};

// What only one way of registration knows.
class DevicePluginSocketTraps : public DevicePluginTraps {};
class DevicePluginWatcherTraps : public DevicePluginTraps {};

// A kubelet that takes an older stream's end for the end of the newer registration.
TEST_P(DevicePluginTraps, Df10TheOldStreamIsEndedBeforeANewRegistration) {
  StartRegistered(2);
  if (is_watched()) {
    std::filesystem::remove(Socket());
    ASSERT_TRUE(kubelet_.WaitForCalls("ListAndWatch", 2, PluginRun::kPatience));
  } else {
    const std::string socket = kubelet_.layout().kubelet_socket();
    std::filesystem::rename(socket, dir_.At("away"));
    ASSERT_TRUE(WaitForState(EndpointState::kWaiting));
    std::filesystem::rename(dir_.At("away"), socket);
    ASSERT_TRUE(kubelet_.WaitForCalls("Register", 2, PluginRun::kPatience));
  }
  ExpectLive(2);
}

TEST_P(DevicePluginSocketTraps, Df10AnOverlapOfTwoKubeletsEndsWithTheNewOne) {
  StartRegistered(2);
  FakeKubelet second({.root = kubelet_.layout().root, .constants = ShortTimes()});
  ASSERT_OK(second.Start());
  EXPECT_TRUE(second.WaitForResource(kGpus, {.capacity = 2, .allocatable = 2}));
  EXPECT_TRUE(WaitForGpus(0, 2));  // the first one lost its stream
  Show(2, {1});
  EXPECT_TRUE(second.WaitForResource(kGpus, {.capacity = 2, .allocatable = 1}));
}

TEST_P(DevicePluginTraps, Df11TwoRestartsInOneBreathEndInOneRegistration) {
  StartRegistered(2);
  for (int i = 0; i < 2; ++i) {
    ASSERT_OK(kubelet_.Restart());
  }
  ExpectLive(2);
  EXPECT_THAT(kubelet_.Endpoints(), SizeIs(1));
}

TEST_P(DevicePluginTraps, Df11TheFolderItselfIsMadeAgain) {
  StartRegistered(2);
  kubelet_.Stop();
  std::filesystem::rename(Folder(), dir_.At("away"));
  ASSERT_OK(kubelet_.Start());
  ExpectLive(2);
  EXPECT_TRUE(std::filesystem::exists(Socket()));
}

TEST_P(DevicePluginTraps, Df11AVanishedSocketIsMadeAgain) {
  StartRegistered(2);
  std::filesystem::remove(Socket());
  EXPECT_TRUE(WaitForAnswer());
  if (is_watched()) {
    EXPECT_TRUE(kubelet_.WaitForCalls("ListAndWatch", 2, PluginRun::kPatience));
  }
  ExpectLive(2);
  // On kubelet.sock nothing else needs to be done: the stream never broke.
  EXPECT_EQ(kubelet_.CallCount("ListAndWatch"), is_watched() ? 2u : 1u);
}

TEST_P(DevicePluginTraps, Df12AHangingRegistrationKeepsNobodyFromAsking) {
  kubelet_.Inject(kubelet::kRegisterPoint, {.kind = kubelet::FaultKind::kHang});
  kubelet_.Inject(kubelet::kWatcherPoint, {.kind = kubelet::FaultKind::kSkip});
  plugin::EndpointOptions options = Options();
  options.register_deadline = milliseconds(200);
  const WallTime begun = std::chrono::system_clock::now();
  plugin_ = std::make_unique<PluginRun>(GetParam(), options);
  Show(2);
  ASSERT_TRUE(WaitForAnswer());
  EXPECT_OK(Caller()->GetOptions());
  if (!is_watched()) {
    ASSERT_TRUE(kubelet_.WaitForCalls("Register", 3, PluginRun::kPatience));
    EXPECT_OK(Caller()->Allocate({GpuId(0)}));
    ExpectPauses("Register", begun, [&](size_t) { return options.register_deadline; });
  }
  kubelet_.ClearFaults();
  ExpectLive(2);
}

TEST_P(DevicePluginSocketTraps, Df12ARefusedRegistrationIsTriedLessAndLessOften) {
  Withhold("rpc error: code = Unknown");
  const WallTime begun = std::chrono::system_clock::now();
  StartPlugin({GpuView(2)});
  ASSERT_TRUE(kubelet_.WaitForCalls("Register", 5, PluginRun::kPatience));
  EXPECT_OK(Caller()->GetOptions());
  ExpectPauses("Register", begun, [&](size_t i) {
    return std::min<milliseconds>(Options().first_backoff * (1 << i), Options().last_backoff);
  });
  kubelet_.ClearFaults();
  ExpectLive(2);
}

TEST_P(DevicePluginTraps, Df12AKubeletThatIsNotThereYetIsWaitedFor) {
  StartRegistered(2);
  kubelet_.Stop();  // its socket file stays, and refuses
  ASSERT_TRUE(WaitForState(EndpointState::kWaiting));
  EXPECT_OK(Caller()->Allocate({GpuId(1)}));
  ASSERT_OK(kubelet_.Start(milliseconds(30)));
  ExpectLive(2);
}

TEST_P(DevicePluginTraps, Df13ANameThatTheKubeletRefusesHarmsNoOther) {
  constexpr const char* kLongName =
      "example.com/gpu-of-a-name-that-is-longer-than-the-sixty-three-"
      "characters-a-kubelet-takes";
  constexpr const char* kNames[] = {"node.kubernetes.io/gpu", "gpu", kLongName};
  std::vector<plugin::ResourceViewPtr> views = {GpuView(2)};
  for (const char* name : kNames) {
    views.push_back(ListView(name, {{"some-id", true, std::nullopt}}));
  }
  StartPlugin(views);
  EXPECT_TRUE(WaitForGpus(2, 2));
  for (const char* name : kNames) {
    EXPECT_TRUE(plugin_->WaitForStatus(
        name,
        [](const EndpointStatus& status) {
          return status.failed_registrations > 0 &&
                 status.reason.find("the kubelet rejected the registration:") == 0 &&
                 status.reason.find("invalid") != std::string::npos;
        }))
        << name << ": " << plugin_->StatusOf(name).reason;
    EXPECT_EQ(kubelet_.Capacity(name), -1);
  }
}

TEST_P(DevicePluginTraps, Df19ASocketLeftByAKilledPluginIsReplaced) {
  LeaveDeadSocket(Socket());
  StartRegistered(2);
  ExpectLive(2);
}

TEST_P(DevicePluginWatcherTraps, Df19GetInfoIsAnsweredInTimeUnderLoad) {
  StartRegistered(8);
  std::atomic<bool> is_over = false;
  std::vector<std::jthread> callers;
  callers.reserve(4);
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      const auto caller = Caller();
      while (!is_over) {
        EXPECT_OK(caller->Allocate({GpuId(0), GpuId(5)}));
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    const auto begun = std::chrono::steady_clock::now();
    const auto info = Caller()->GetInfo();
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(1));
    ASSERT_OK(info.status());
    EXPECT_EQ(info->type, "DevicePlugin");
    EXPECT_EQ(info->name, kGpus);
    EXPECT_EQ(info->endpoint, "");
    EXPECT_THAT(info->versions, ElementsAre("v1beta1"));
  }
  is_over = true;
}

TEST_P(DevicePluginWatcherTraps, Df19NotificationsAreAnsweredAndSurvived) {
  StartRegistered(2);
  for (const kubelet::CallRecord& call : CallsOf("NotifyRegistrationStatus")) {
    EXPECT_THAT(call.arguments, HasSubstr("registered"));
  }
  EXPECT_OK(Caller()->NotifyRegistrationStatus(false, "somebody else has the name"));
  EXPECT_TRUE(plugin_->WaitForStatus(
      kGpus, [](const EndpointStatus& status) { return status.failed_registrations == 1; }));
  EXPECT_OK(Caller()->NotifyRegistrationStatus(true, ""));
  Show(2, {0});
  EXPECT_TRUE(WaitForGpus(1, 2));
}

INSTANTIATE_TEST_SUITE_P(Way, DevicePluginTraps,
                         ::testing::Values(Registration::kKubeletSocket,
                                           Registration::kPluginWatcher),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Way, DevicePluginSocketTraps,
                         ::testing::Values(Registration::kKubeletSocket), NameOf);
INSTANTIATE_TEST_SUITE_P(Way, DevicePluginWatcherTraps,
                         ::testing::Values(Registration::kPluginWatcher), NameOf);

}  // namespace
}  // namespace kgpu::integration
