"""Variant forms of Han characters that OpenCC leaves alone, mapped to the standard character.

Only pairs whose left character is another way to write the right one in every poem where it
stands. Characters with two readings (祇, 祗, 閒, 著, 槃) are not here: choosing would be a guess.
The right side may be traditional; simplification comes after.
"""

from __future__ import annotations

_PAIRS = """
隠隱 疎疏 踈疏 簷檐 秪只 鴈雁 鬰鬱 欝鬱 髪髮 頼賴 浄淨 徧遍 慙慚 鶑鶯 鸎鶯 粧妝
劒劍 劔劍 鬭鬥 鬬鬥 媿愧 蘂蕊 臯皋 僊仙 猨猿 髙高 珮佩 鼇鰲 巵卮 馿驢 櫂棹 煖暖
嬾懶 賸剩 覩睹 牋箋 歛斂 妬妒 隣鄰 餠餅 罇樽 閙鬧 隄堤 懽歡 俛俯 寛寬 彊強 椀碗
盌碗 懃勤 慇殷 鉏鋤 耡鋤 筯箸 褭裊 鳯鳳 峩峨 袴褲 拏拿 怱匆 毬球 檝楫 缾瓶 堦階
虀齏 畧略 燄焰 迺乃 廼乃 珪圭 遯遁 穉稚 稺稚 潄漱 犂犁 鏁鎖 鎻鎖 鼈鱉 飜翻 廻回
囘回 麤粗 麁粗 悮誤 怳恍 欵款 邉邊 磵澗 羮羹 栢柏 槩概 覊羈 羇羈 歳歲 揺搖 嚬顰
蔕蒂 逈迥 竝並 烱炯 穽阱 暎映 幙幕 顇悴 緜綿 歘欻 桮杯 壻婿 殽肴 醆盞 琖盞 姪侄
薫薰 輙輒 搆構 牓榜 朶朵 碁棋 毎每 瘖喑 蠧蠹 諠喧 憇憩 螘蟻 斵斲 瑯琅 呌叫 翺翱
鵶鴉 瓌瑰 皷鼓 濬浚 藂叢 荅答 躭耽 臙胭 瓈璃 邨村 徴徵 濶闊 懐懷 粃秕 蕚萼 氊氈
澣浣 葅菹 渇渴 髠髡 効效 揜掩 戯戲 逺遠 毘毗 厓崖 棃梨 塲場 様樣 雝雍 艶艷 啣銜
噉啖 駮駁 闗關 巌巖 朞期 呪咒 箒帚 燿耀 槖橐 寜寧 筭算 觧解 蟇蟆 飡餐 脇脅 醤醬
穏穩 澁澀 窻窗 牕窗 牎窗 窓窗 寃冤 衞衛 碪砧 椶棕 闚窺 嚢囊 勲勳 輭軟 帬裙 狥徇
虵蛇 汚污 袠帙 鐡鐵 倣仿 陁陀 勅敕 勗勖 趂趁 麞獐 淛浙 籖籤 釡釜 歴歷 甦蘇 凖準
甆瓷 甖罌 黙默 飇飆 襃褒 賖賒 髩鬢 糢模 覔覓 徃往 犇奔 匳奩 痩瘦 刼劫 撃擊 専專
囓嚙 湼涅 氷冰 嵒岩 嵓岩 菓果 鷰燕 覇霸 掲揭 覧覽 禆裨 眀明 曵曳 帯帶 膓腸 捜搜
颕穎 纎纖 昻昂 璚瓊 眎視 敺驅 恡吝 聨聯 喣煦 蜨蝶 顋腮 僣僭 塼磚 甎磚 蠒繭 臈臘
涙淚 颿帆 騣鬃 蝱虻 韈襪 攅攢 畆畝 頬頰 蔾藜 嬭奶 讌宴 醼宴 鑪爐 酧酬 畊耕 遡溯
稾稿 槀槁 﨑崎 牀床 爲為 疉疊 疂疊 壷壺 楽樂 砕碎 絶絕 経經 猟獵 欎鬱 冩寫 庻庶
奨獎 継繼 従從 恵惠 悪惡 暁曉 満滿 焼燒 秖只 悞誤 頴穎 戱戲 顦憔 髣仿 髴佛 胷胸
皐皋 荳豆 嗁啼 蠭蜂 麄粗 悤匆 忩匆 羗羌 倂併 睠眷 甿氓 隟隙 覰覷 廐廄 秔粳 斾旆
嶮險 瑠琉 傚效 逰遊 鞵鞋 欬咳 尅剋 袵衽 鶵雛 貎貌 蹏蹄 扄扃 戸戶 煑煮 凴憑 壊壞
亷廉 荘莊 嗸嗷 崕崖 巓巔 砲炮 鑛礦 郷鄉 圗圖 舩船 鵞鵝 卭邛 韮韭 爼俎 聴聽 聼聽
騐驗 蕋蕊 竢俟 歗嘯 皡皞 鍳鑒 繋繫 聮聯 聫聯 謌歌 埜野 嘅慨 壌壤 徤健 樷叢 旛幡
澘潸 籐藤 緐繁 縦縱 頋顧 尙尚 愽博 澂澄 冨富 磎溪 黒黑 駈驅 冦寇 娯娛 虗虛 昬昏
彛彝 冺泯 譌訛 脩修 謩謨 圎圓 恠怪 餙飾 呑吞 甞嘗 熈熙 煕熙 肻肯 勌倦 恊協 莾莽
歩步 豊豐 敍敘 冐冒 韤襪 逓遞 艸草 鼔鼓 靁雷 畮畝 墖塔 蟁蚊 寕寧 闘鬥 翶翱 茘荔
摠總 緫總 騘驄 縚絛 抺抹 抝拗 廹迫 喦岩 韲齏 覉羈 簮簪 剏創 朂勖 飰飯 蓱萍 倐倏
餽饋 齅嗅 衂衄 暱昵 劵券 蠏蟹 繖傘 鬛鬣 飬養
"""

VARIANTS = {pair[0]: pair[1] for pair in _PAIRS.split() if pair[0] != pair[1]}
"""Variant → standard. Explicit and closed: what is not here is not mapped."""

TRANSLATION = str.maketrans(VARIANTS)
