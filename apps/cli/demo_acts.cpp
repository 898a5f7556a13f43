#include "apps/cli/demo_acts.h"

#include <array>

namespace sinew::cli {

std::span<const Act> demo_acts() {
  static const std::array<Act, 4> kActs{{
      {"arm",
       8000,
       "20,15",
       {Played{"bend", 1, true}, Played{"twist"}, Played{"fist"}},
       "bend",
       "lower_arm",
       "12,18",
       "bend",
       "The elbow closes to 150°. Look at the inside of "
       "the "
       "elbow: the two skins should meet in a fold, not pass through each other."},
      {"hand",
       16'000,
       "-28,12",
       {Played{"bend"}, Played{"fist"}},
       "fist",
       "index_2",
       "-50,10",
       "fist",
       "21 bones. In a fist the fingers press against each other and against the palm."},
      {"mannequin",
       16'000,
       "38,10",
       {Played{"bend"}, Played{"twist"}, Played{"crouch", 1, true}, Played{"walk", 0.4, true},
        Played{"run", 0.27}, Played{"jump"}},
       "crouch",
       "shin.L",
       "75,5",
       "crouch",
       "63 joints. In the crouch the calves press into the thighs, the thighs into the belly and the arms "
       "lie "
       "across the chest."},
      {"cat",
       8000,
       "75,12",
       {Played{"bend"}, Played{"run", 0.5}},
       "bend",
       "tail_4",
       "60,15",
       "run",
       "37 joints, eight of them in the tail, which the method 'curves' bends as one smooth curve."},
  }};
  return kActs;
}

}  // namespace sinew::cli
