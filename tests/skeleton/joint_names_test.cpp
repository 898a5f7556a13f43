#include <sinew/skeleton/joint_names.h>

#include <utility>

#include <gtest/gtest.h>

namespace sinew {
namespace {

TEST(JointNames, LettersAndWords) {
  EXPECT_EQ(letters_of("Left_UpLeg.001"), "leftupleg");
  EXPECT_EQ(letters_of("\xc3\x84rm"), "rm") << "other alphabets have no letters here";
  EXPECT_EQ(words_of("b_LeftForeArm_01"), (std::vector<std::string>{"b", "left", "fore", "arm"}));
  EXPECT_EQ(words_of("IKTail"), (std::vector<std::string>{"iktail"}));
  EXPECT_TRUE(words_of("007").empty());
  EXPECT_EQ(without_namespace("mixamorig:Hips"), "Hips");
  EXPECT_EQ(without_namespace("a|b:c"), "c");
  EXPECT_EQ(without_namespace("tail:"), "tail:") << "nothing would be left";
}

TEST(JointNames, Parts) {
  for (const char* name : {"LeftForeArm", "thigh.L", "f_index.01.R", "Wing2", "mixamorig:LeftToeBase"})
    EXPECT_TRUE(is_limb_name(name)) << name;
  for (const char* name : {"Tail1", "spine.003", "head", ""}) EXPECT_FALSE(is_limb_name(name)) << name;
  EXPECT_TRUE(is_hip_name("Pelvis") && is_hip_name("mixamorig:Hips") && !is_hip_name("spine"));
  EXPECT_TRUE(is_trunk_name("Spine_01") && is_trunk_name("upper chest") && !is_trunk_name("neck"));
  EXPECT_TRUE(is_tail_name("Tail.002") && !is_tail_name("toe"));
  EXPECT_TRUE(is_ground_name("Root") && is_ground_name("root_01") && is_ground_name("WORLD"));
  EXPECT_FALSE(is_ground_name("root_hips") || is_ground_name(""));
}

TEST(JointNames, Heads) {
  const std::pair<const char*, int> cases[] = {{"Head", 3},     {"rig:head", 3}, {"skull", 3},
                                               {"head_end", 2}, {"big.head", 2}, {"bighead", 1},
                                               {"forehead", 0}, {"neck", 0},     {"DEF-Head.x", 2}};
  for (const auto& [name, likeness] : cases) EXPECT_EQ(head_likeness(name), likeness) << name;
}

TEST(JointNames, SoftParts) {
  EXPECT_EQ(soft_part_of("Tail_03"), SoftPart::tail);
  EXPECT_EQ(soft_part_of("b_LeftEar"), SoftPart::ear);
  EXPECT_EQ(soft_part_of("LeftForeArm"), SoftPart::none) << "no forearm has an ear";
  EXPECT_EQ(soft_part_of("neck"), SoftPart::spine);
  EXPECT_EQ(soft_part_of("elephantTrunk2"), SoftPart::trunk);
  EXPECT_EQ(soft_part_of(""), SoftPart::none);
}

TEST(JointNames, FleshParts) {
  EXPECT_EQ(flesh_part_of("Left_UpLeg"), FleshPart::thigh);
  EXPECT_EQ(flesh_part_of("shin.L"), FleshPart::calf);
  EXPECT_EQ(flesh_part_of("mixamorig:RightArm"), FleshPart::upper_arm);
  EXPECT_EQ(flesh_part_of("RightForeArm"), FleshPart::none);
  EXPECT_EQ(flesh_part_of("tube"), FleshPart::none);
}

TEST(JointNames, ProgramsAgree) {
  const auto usual = [](const char* name) {
    const PlainName plain = plain_name(name);
    return plain.side + usual_part_name(plain.part);
  };
  for (const char* name :
       {"mixamorig:LeftUpLeg", "thigh.L", "DEF-thigh.L", "lThigh", "UpperLeg_L", "thigh_l"})
    EXPECT_EQ(usual(name), "lthigh") << name;
  for (const char* name : {"RightHandIndex1", "f_index.01.R", "index_01_r"})
    EXPECT_EQ(usual(name), "rindex1") << name;
  for (const char* name : {"Spine", "spine.000", "abdomen"}) EXPECT_EQ(usual(name), " spine") << name;
  EXPECT_EQ(usual("no_such_thing"), " nosuchthing");
}

}  // namespace
}  // namespace sinew
