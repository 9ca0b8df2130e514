// Converts API objects to the values of facts.h. Pure functions; malformed data counts as absent.
#pragma once

#include <boost/json/fwd.hpp>

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "src/diagnose/explain/facts.h"

namespace kgpu::explain {

Pod ReadPod(const boost::json::value& object);
// Another pod's share; nothing if it is on no node or has ended.
std::optional<Holder> ReadHolder(const boost::json::value& object);
Node ReadNode(const boost::json::value& object);
Event ReadEvent(const boost::json::value& object);
Quota ReadQuota(const boost::json::value& object);
std::vector<Limit> ReadLimits(const boost::json::value& object);
Claim ReadClaim(const boost::json::value& object);
DeviceClass ReadDeviceClass(const boost::json::value& object);
Slice ReadSlice(const boost::json::value& object);

// For readers.
using Path = std::initializer_list<std::string_view>;
std::string Text(const boost::json::value& object, Path path);
bool Flag(const boost::json::value& object, Path path);
// The items of a list; nothing if there is no list.
void ForEach(const boost::json::value& object, Path path,
             const std::function<void(const boost::json::value&)>& take);
std::vector<std::string> TextList(const boost::json::value& object, Path path);
Texts ReadTexts(const boost::json::value& object, Path path);
// `wrong` receives texts that are no quantity; may be null.
Amounts ReadAmounts(const boost::json::value& object, Path path,
                    std::vector<std::string>* wrong = nullptr);
std::vector<Toleration> ReadTolerations(const boost::json::value& object, Path path);
std::vector<Taint> ReadTaints(const boost::json::value& object, Path path);
// The taints of a device that keep claims away. Source: the API, DeviceTaint: an effect that a
// client does not know counts as None.
std::vector<Taint> ReadDeviceTaints(const boost::json::value& object, Path path);
std::vector<Condition> ReadConditions(const boost::json::value& object);
// From a list of terms, "nodeSelectorTerms".
std::vector<SelectorTerm> ReadTerms(const boost::json::value& object, Path path);

}  // namespace kgpu::explain
