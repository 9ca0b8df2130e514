// Red Hat gives packages to those alone who are entitled to them, by a certificate.
#include <algorithm>
#include <array>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "src/diagnose/doctor/check.h"
#include "src/diagnose/doctor/facts.h"
#include "src/platform/base/strings.h"
#include "src/platform/net/tls/certificate.h"

namespace kgpu::doctor {
namespace {

constexpr std::string_view kCertificates = "etc/pki/entitlement";
constexpr std::string_view kRepositories = "etc/yum.repos.d";

RedHat RedHatOf(const host::Distribution& distribution) {
  if (distribution.id != "rhel" && distribution.id != "rhcos") {
    return RedHat::kNo;
  }
  return distribution.immutable == host::Immutable::kRhcos ? RedHat::kCoreOs : RedHat::kEnterprise;
}

// A mirror of one's own, or that of a cloud (RHUI), which lets its machines in by other means. What
// subscription-manager writes itself is worth nothing without a certificate.
bool HasOtherSource(host::Sight& sight) {
  for (const std::string& name : sight.Names(kRepositories)) {
    if (!name.ends_with(".repo") || name == "redhat.repo") {
      continue;
    }
    const std::string text =
        ToLower(sight.Text(fmt::format("{}/{}", kRepositories, name)).value_or(""));
    for (const std::string_view word : {"baseos", "rhui", "-server-rpms"}) {
      if (text.find(word) != std::string::npos) {
        return true;
      }
    }
  }
  return false;
}

std::string DateOf(WallTime time) {
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

void NotEntitled(const Facts& facts, Findings& findings) {
  const EntitlementFacts& entitlement = facts.entitlement;
  if (entitlement.red_hat == RedHat::kNo || entitlement.is_unreadable ||
      entitlement.has_other_source || entitlement.is_valid) {
    return;
  }
  const std::string evidence =
      entitlement.last_end
          ? fmt::format("the last certificate in /{} expired {}", kCertificates,
                        DateOf(*entitlement.last_end))
          : fmt::format("no certificate in /{}, and no other source of the system's packages",
                        kCertificates);
  if (entitlement.red_hat == RedHat::kCoreOs) {
    if (!facts.has_driver()) {
      findings.AddInfo(
          evidence,
          {"kgpu driver plan --driver-toolkit IMAGE --source FILE.run   # needs no entitlement",
           "# else the cluster needs the secret etc-pki-entitlement in openshift-config-managed: "
           "see the documentation of its Insights Operator"});
    }
    return;
  }
  std::vector<std::string> fix = {"subscription-manager register",
                                  "dnf repolist   # lists the system's repositories"};
  if (entitlement.last_end) {
    fix.front() = "subscription-manager refresh";
  }
  if (facts.driver.is_nvidia_loaded) {
    findings.AddInfo(evidence, std::move(fix));
  } else {
    findings.Add(evidence, std::move(fix));
  }
}

constexpr std::array kEntitlementChecks = {
    Check{"rhel-not-entitled", "Red Hat's packages are unavailable on this host",
          Severity::kWarning,
          "Kernel headers, compilers and DKMS come from repositories that require an entitlement "
          "certificate, which subscription-manager downloads and renews. RHCOS needs none if the "
          "modules are built in the Driver Toolkit image of its release, or are prebuilt.",
          NotEntitled},
};

}  // namespace

EntitlementFacts ReadEntitlementFacts(host::Sight& sight, const host::Distribution& distribution,
                                      const Clock& clock) {
  EntitlementFacts facts;
  facts.red_hat = RedHatOf(distribution);
  if (facts.red_hat == RedHat::kNo) {
    return facts;
  }
  facts.has_other_source = HasOtherSource(sight);
  facts.is_unreadable =
      !sight.host().ListDir(kCertificates).ok() && sight.host().Exists(kCertificates);
  for (const std::string& name : sight.Names(kCertificates)) {
    if (!name.ends_with(".pem") || name.ends_with("-key.pem")) {
      continue;
    }
    const std::optional<std::string> pem = sight.Text(fmt::format("{}/{}", kCertificates, name));
    if (!pem) {
      facts.is_unreadable = true;
      continue;
    }
    const StatusOr<WallTime> end = tls::EndOfCertificate(*pem);
    if (end.ok()) {
      facts.last_end = std::max(facts.last_end.value_or(*end), *end);
    }
  }
  facts.is_valid = facts.last_end && *facts.last_end > clock.WallNow();
  return facts;
}

std::span<const Check> EntitlementChecks() {
  return kEntitlementChecks;
}

}  // namespace kgpu::doctor
