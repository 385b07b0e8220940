-- A history as schema 1 kept it, a poem in the middle of being written.
PRAGMA application_id = 1497581617;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE chunks (
    turn TEXT NOT NULL REFERENCES turns (id) ON DELETE CASCADE,
    number INTEGER NOT NULL CHECK (number >= 0),
    tokens TEXT NOT NULL,
    steps TEXT,
    PRIMARY KEY (turn, number)
) STRICT, WITHOUT ROWID;
INSERT INTO "chunks" VALUES('063th8ak',0,'[7, 8]','{"names":["position","token","text","probability","u","forced","phase","context","recomputed","forward_s","sampling_s","cache_bytes","reused"],"controls":[{"sampler":{"temperature":1.0,"top_k":0,"top_p":1.0,"min_p":0.0,"presence":0.0,"frequency":0.0,"repetition":1.0,"window":0,"order":["mask","repetition","presence_frequency","temperature","top_k","top_p","min_p"]},"cache":"on","seed":0,"max_tokens":500,"stop":[]},{"sampler":{"temperature":1.0,"top_k":0,"top_p":1.0,"min_p":0.0,"presence":0.0,"frequency":0.0,"repetition":1.0,"window":0,"order":["mask","repetition","presence_frequency","temperature","top_k","top_p","min_p"]},"cache":"on","seed":0,"max_tokens":500,"stop":[]}],"rows":[[1,7,"\uff0c",0.25,0.125,true,"decode",1,0,0.001,0.0001,512,0,-1.5,0],[2,8,"\u7591",0.25,0.125,false,"decode",2,0,0.001,0.0001,512,0,-1.5,1]]}');
INSERT INTO "chunks" VALUES('063th8ak',1,'[9]','{"names":["position","token","text","probability","u","forced","phase","context","recomputed","forward_s","sampling_s","cache_bytes","reused"],"controls":[{"sampler":{"temperature":1.0,"top_k":5,"top_p":1.0,"min_p":0.0,"presence":0.0,"frequency":0.0,"repetition":1.0,"window":0,"order":["mask","repetition","presence_frequency","temperature","top_k","top_p","min_p"]},"cache":"on","seed":0,"max_tokens":500,"stop":[]}],"rows":[[3,9,"\u662f",0.25,0.125,false,"decode",3,0,0.001,0.0001,512,0,-1.5,0]]}');
INSERT INTO "chunks" VALUES('y6m385c9',0,'[11, 12]',NULL);
INSERT INTO "chunks" VALUES('y6m385c9',1,'[13]',NULL);
CREATE TABLE turns (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    work TEXT NOT NULL REFERENCES works (id) ON DELETE CASCADE,
    parent TEXT REFERENCES turns (id) ON DELETE CASCADE,
    origin TEXT REFERENCES turns (id) ON DELETE SET NULL,
    fork INTEGER NOT NULL CHECK (fork >= 0),
    role TEXT NOT NULL CHECK (role IN ('poem', 'system', 'user', 'assistant')),
    text TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('writing', 'done', 'stopped', 'interrupted', 'error')),
    owner TEXT CHECK ((owner IS NOT NULL) = (state = 'writing')),
    model TEXT NOT NULL,
    controls TEXT,
    settings TEXT NOT NULL,
    finished TEXT,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL
) STRICT;
INSERT INTO "turns" VALUES(1,'tmth2ypj','77gjp1e6',NULL,NULL,0,'system','Answer in one line.','done',NULL,'',NULL,'{}',NULL,1796060641187269,1796060641187269);
INSERT INTO "turns" VALUES(2,'44xkcxmd','77gjp1e6','tmth2ypj',NULL,0,'user','什么是春天？','done',NULL,'',NULL,'{}',NULL,1796060641218041,1796060641218041);
INSERT INTO "turns" VALUES(3,'y6m385c9','77gjp1e6','44xkcxmd',NULL,0,'assistant','春天是万物生长的季节。','done',NULL,'smollm2','{"sampler": {"temperature": 0.7, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "presence": 0.0, "frequency": 0.0, "repetition": 1.0, "window": 0, "order": ["mask", "repetition", "presence_frequency", "temperature", "top_k", "top_p", "min_p"]}, "cache": "on", "seed": 3, "max_tokens": 500, "stop": []}','{}','{"reason": "length", "text": "", "tokens": 3, "prefill_s": 0.2, "decode_s": 0.3, "detail": "", "reused": 0}',1796060641218486,1796060641218977);
INSERT INTO "turns" VALUES(4,'fgk1j7a6','77gjp1e6','tmth2ypj',NULL,0,'user','Where is the lighthouse?','done',NULL,'',NULL,'{}',NULL,1796060641219031,1796060641219031);
INSERT INTO "turns" VALUES(5,'8tyhw17p','77gjp1e6','fgk1j7a6','y6m385c9',0,'assistant','On the cliff [/','stopped',NULL,'smollm2',NULL,'{}','{"reason": "cancelled", "text": "", "tokens": 0, "prefill_s": 0.0, "decode_s": 0.0, "detail": "", "reused": 0}',1796060641219146,1796060641219297);
INSERT INTO "turns" VALUES(6,'063th8ak','t4zjfdec',NULL,NULL,0,'poem','床前明月光，疑是','writing','deadbeef','tang-small','{"sampler": {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "presence": 0.0, "frequency": 0.0, "repetition": 1.0, "window": 0, "order": ["mask", "repetition", "presence_frequency", "temperature", "top_k", "top_p", "min_p"]}, "cache": "on", "seed": 5, "max_tokens": 500, "stop": []}','{"prompt": "\u5e8a\u524d\u660e\u6708\u5149"}',NULL,1796060641219408,1796060641219709);
CREATE TABLE windows (
    place INTEGER PRIMARY KEY,
    owner TEXT,
    document TEXT NOT NULL,
    updated INTEGER NOT NULL
) STRICT;
CREATE TABLE works (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL CHECK (kind IN ('poem', 'chat')),
    title TEXT NOT NULL,
    model TEXT NOT NULL,
    created INTEGER NOT NULL,
    updated INTEGER NOT NULL,
    active TEXT,
    settings TEXT NOT NULL
) STRICT;
INSERT INTO "works" VALUES(1,'77gjp1e6','chat','','smollm2',1796060641187234,1796060641219303,'8tyhw17p','{"context": 2048}');
INSERT INTO "works" VALUES(2,'t4zjfdec','poem','床前','tang-small',1796060641219326,1796060641219758,'063th8ak','{}');
CREATE INDEX works_by_change ON works (updated);
CREATE INDEX turns_of_work ON turns (work);
CREATE INDEX turns_of_parent ON turns (parent);
CREATE INDEX turns_of_origin ON turns (origin);
CREATE INDEX turns_being_written ON turns (owner) WHERE owner IS NOT NULL;
COMMIT;
