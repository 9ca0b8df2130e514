#include "src/node/inventory/reader.h"

#include <utility>

namespace kgpu::inventory {
namespace {

// Lives as long as one of its requests is under way: each holds a reference.
class Pass : public std::enable_shared_from_this<Pass> {
 public:
  Pass(probe::Client& client, const Clock& clock, Events events,
       std::function<void(ReadOutcome)> done)
      : client_(client), events_(events), done_(std::move(done)) {
    outcome_.reading.begun = clock.Now();
  }

  void Start() {
    Ask();
    client_.ReadDriver([self = shared_from_this()](const probe::Answer<probe::DriverReport>& a) {
      self->OnDriver(a);
    });
  }

 private:
  using DriverAnswer = probe::Answer<probe::DriverReport>;
  using GpuAnswer = probe::Answer<probe::GpuReport>;

  GpuReading& At(unsigned gpu) { return outcome_.reading.gpus[gpu]; }
  void Ask() { ++open_; }

  // The last answer ends the pass.
  void Close() {
    if (--open_ == 0) {
      done_(std::move(outcome_));
    }
  }

  void OnDriver(const DriverAnswer& answer) {
    if (answer.value.ok()) {
      outcome_.reading.driver = *answer.value;
      outcome_.reading.gpus.resize(answer.value->gpu_count);
      if (events_ == Events::kRegister) {
        Register(answer.value->gpu_count);
      }
      for (unsigned gpu = 0; gpu < answer.value->gpu_count; ++gpu) {
        AskGpu(gpu);
      }
    } else {
      outcome_.driver_result =
          answer.result == nvml::kSuccess ? nvml::kErrorUnknown : answer.result;
    }
    Close();
  }

  // A GPU without events is as good as one with events.
  void Register(unsigned gpus) {
    for (unsigned gpu = 0; gpu < gpus; ++gpu) {
      client_.WatchEvents(gpu, [](const auto&) {});
    }
    client_.StartEvents();
    outcome_.reading.has_registered_events = true;
  }

  void AskGpu(unsigned gpu) {
    Ask();
    client_.ReadGpu(gpu, [self = shared_from_this(), gpu](const GpuAnswer& answer) {
      self->OnGpu(gpu, answer);
    });
  }

  void OnGpu(unsigned gpu, const GpuAnswer& answer) {
    GpuReading& reading = At(gpu);
    reading.result = answer.result;
    if (answer.value.ok()) {
      reading.gpu = *answer.value;
      AskLinks(gpu);
      const bool is_mig = reading.gpu.mig_mode && reading.gpu.mig_mode->is_enabled;
      for (unsigned index = 0; is_mig && index < reading.gpu.max_mig_devices; ++index) {
        AskMigDevice(gpu, index);
      }
    } else {
      reading.is_garbled = answer.result == nvml::kSuccess;
    }
    Close();
  }

  void AskLinks(unsigned gpu) {
    Ask();
    client_.ReadNvLinks(gpu, [self = shared_from_this(), gpu](const auto& answer) {
      if (answer.value.ok()) {
        self->At(gpu).nvlinks = *answer.value;
      }
      self->Close();
    });
    Ask();
    client_.ReadTopology(gpu, [self = shared_from_this(), gpu](const auto& answer) {
      if (answer.value.ok()) {
        self->At(gpu).topology = *answer.value;
      }
      self->Close();
    });
  }

  void AskMigDevice(unsigned gpu, unsigned index) {
    Ask();
    client_.ReadMigDevice(gpu, index, [self = shared_from_this(), gpu, index](const auto& answer) {
      // "Not found": the index is free.
      if (answer.value.ok()) {
        self->At(gpu).mig_devices[index] = *answer.value;
      }
      self->Close();
    });
  }

  probe::Client& client_;
  const Events events_;
  std::function<void(ReadOutcome)> done_;
  ReadOutcome outcome_;
  unsigned open_ = 0;
};

}  // namespace

void ReadAll(probe::Client& client, const Clock& clock, Events events,
             std::function<void(ReadOutcome)> done) {
  std::make_shared<Pass>(client, clock, events, std::move(done))->Start();
}

}  // namespace kgpu::inventory
