// The page's texts. Names of resources, reasons and messages come from the node and stay English.
'use strict';

const kTexts = {
  en: {
    name: 'English', gpus: 'GPUs', users: 'Users', pools: 'Pools', topology: 'Topology', events: 'Events', summary: 'Summary',
    nodes: 'Nodes', models: 'Models', namespaces: 'Namespaces', node: 'Node', model: 'Model', namespace: 'Namespace',
    healthy: 'healthy', unhealthy: 'unhealthy', inUse: 'in use', free: 'free', used: 'used', total: 'total', ready: 'ready',
    notReady: 'not ready', driver: 'Driver', memory: 'Memory', utilization: 'Utilization', temperature: 'Temperature', power: 'Power',
    clock: 'Clock', pool: 'Pool', lent: 'Lent to', function: 'Function', claim: 'claim', limit: 'Limit', processes: 'Processes',
    pod: 'Pod', container: 'Container', device: 'Device', resource: 'Resource', time: 'Time', event: 'Event', stateHead: 'State',
    throttled: 'Throttled', lastHour: 'last hour', others: 'others', outside: 'outside of pods', migLayout: 'MIG layout',
    noMig: 'no MIG devices', noNvlink: 'No NVLink between these GPUs.', topologyNote: 'Lines are NVLink connections.',
    noneMatch: 'No GPU matches the filter.', noGpu: 'The driver shows no GPU.', nobody: 'Nobody uses the GPUs.',
    noEvents: 'No health events since the agent started.', filter: 'Filter ( / )', language: 'Language', theme: 'Theme',
    themeAuto: 'system', themeLight: 'light', themeDark: 'dark', settings: 'Settings', loading: 'Loading …',
    notMeasured: 'The GPUs are not measured yet', asOf: 'As of', noAnswer: 'No answer', ended: 'the connection ended',
    tokenNeeded: 'This page needs a token that may read the metrics.', token: 'Token', open: 'Open',
    mapLabel: 'Map of the nodes; the table below has the same data', more: 'N more: filter to see them.',
    cordoned: 'cordoned', noPool: 'no pool', pending: 'Pending', pods: 'Pods',
    cluster: 'GPU cluster',
    functions: 'Functions', calls: 'Calls', waiting: 'Waiting', start: 'Cold start', colon: ': ',
  },
  ko: {
    name: '한국어', gpus: 'GPU', users: '사용 현황', pools: '풀', topology: '토폴로지', events: '이벤트', summary: '요약',
    nodes: '노드', models: '모델', namespaces: '네임스페이스', node: '노드', model: '모델', namespace: '네임스페이스',
    healthy: '정상', unhealthy: '비정상', inUse: '사용 중', free: '여유', used: '사용 중', total: '전체', ready: '준비됨',
    notReady: '준비 안 됨', driver: '드라이버', memory: '메모리', utilization: '사용률', temperature: '온도', power: '소비 전력',
    clock: '클럭', pool: '풀', lent: '대여 대상', function: '함수', claim: '리소스클레임', limit: '한도', processes: '프로세스',
    pod: '파드', container: '컨테이너', device: '디바이스', resource: '리소스', time: '시각', event: '이벤트', stateHead: '상태',
    throttled: '스로틀링', lastHour: '최근 1시간', others: '기타', outside: '파드 외부', migLayout: 'MIG 구성',
    noMig: 'MIG 디바이스 없음', noNvlink: '이 GPU들 사이에는 NVLink가 없습니다.', topologyNote: '선은 NVLink 연결입니다.',
    noneMatch: '필터와 일치하는 GPU가 없습니다.', noGpu: '드라이버가 인식한 GPU가 없습니다.', nobody: 'GPU를 사용하는 워크로드가 없습니다.',
    noEvents: '에이전트가 시작된 이후 상태 이벤트가 없습니다.', filter: '필터 ( / )', language: '언어', theme: '테마',
    themeAuto: '시스템 설정', themeLight: '라이트', themeDark: '다크', settings: '설정', loading: '불러오는 중…',
    notMeasured: '아직 수집된 GPU 데이터가 없습니다', asOf: '기준 시각', noAnswer: '응답 없음', ended: '연결이 끊어졌습니다',
    tokenNeeded: '이 페이지를 보려면 메트릭을 읽을 수 있는 토큰이 필요합니다.', token: '토큰', open: '열기',
    mapLabel: '노드 맵. 아래 표에 같은 내용이 있습니다', more: 'N개가 더 있습니다. 필터로 찾아보세요.',
    cordoned: '스케줄 불가', noPool: '풀 없음', pending: 'Pending', pods: '파드 수',
    cluster: 'GPU 클러스터',
    functions: '함수', calls: '호출 수', waiting: '대기 중', start: '콜드 스타트', colon: ': ',
  },
  zh: {
    name: '简体中文', gpus: 'GPU', users: '使用情况', pools: '资源池', topology: '拓扑', events: '事件', summary: '概览',
    nodes: '节点', models: '型号', namespaces: '命名空间', node: '节点', model: '型号', namespace: '命名空间',
    healthy: '健康', unhealthy: '不健康', inUse: '使用中', free: '空闲', used: '使用中', total: '总数', ready: '就绪',
    notReady: '未就绪', driver: '驱动', memory: '显存', utilization: '利用率', temperature: '温度', power: '功耗',
    clock: '时钟频率', pool: '资源池', lent: '借用方', function: '函数', claim: '资源申领', limit: '上限', processes: '进程',
    pod: 'Pod', container: '容器', device: '设备', resource: '资源', time: '时间', event: '事件', stateHead: '状态',
    throttled: '降频', lastHour: '最近 1 小时', others: '其他', outside: 'Pod 外', migLayout: 'MIG 布局',
    noMig: '没有 MIG 设备', noNvlink: '这些 GPU 之间没有 NVLink。', topologyNote: '连线表示 NVLink 连接。',
    noneMatch: '没有符合筛选条件的 GPU。', noGpu: '驱动未检测到 GPU。', nobody: '没有工作负载在使用 GPU。',
    noEvents: 'Agent 启动以来没有健康事件。', filter: '筛选（ / ）', language: '语言', theme: '主题',
    themeAuto: '跟随系统', themeLight: '浅色', themeDark: '深色', settings: '设置', loading: '正在加载…',
    notMeasured: '尚未采集 GPU 数据', asOf: '截至', noAnswer: '没有响应', ended: '连接已断开',
    tokenNeeded: '访问此页面需要有权读取指标的令牌。', token: '令牌', open: '打开',
    mapLabel: '节点图，内容与下方表格相同', more: '还有 N 个，请使用筛选查找。',
    cordoned: '不可调度', noPool: '无资源池', pending: 'Pending', pods: 'Pod 数',
    cluster: 'GPU 集群',
    functions: '函数', calls: '调用次数', waiting: '等待中', start: '冷启动', colon: '：',
  },
  ja: {
    name: '日本語', gpus: 'GPU', users: '使用状況', pools: 'プール', topology: 'トポロジー', events: 'イベント', summary: '概要',
    nodes: 'ノード', models: 'モデル', namespaces: '名前空間', node: 'ノード', model: 'モデル', namespace: '名前空間',
    healthy: '正常', unhealthy: '異常', inUse: '使用中', free: '空き', used: '使用中', total: '合計', ready: 'Ready',
    notReady: 'NotReady', driver: 'ドライバー', memory: 'メモリー', utilization: '使用率', temperature: '温度', power: '消費電力',
    clock: 'クロック', pool: 'プール', lent: '貸出先', function: '関数', claim: 'ResourceClaim', limit: '上限', processes: 'プロセス',
    pod: 'Pod', container: 'コンテナ', device: 'デバイス', resource: 'リソース', time: '時刻', event: 'イベント', stateHead: '状態',
    throttled: 'スロットリング', lastHour: '直近 1 時間', others: 'その他', outside: 'Pod 外', migLayout: 'MIG 構成',
    noMig: 'MIG デバイスなし', noNvlink: 'これらの GPU 間に NVLink 接続はありません。', topologyNote: '線は NVLink 接続です。',
    noneMatch: 'フィルターに一致する GPU はありません。', noGpu: 'ドライバーが GPU を検出していません。', nobody: 'GPU を使用中のワークロードはありません。',
    noEvents: 'エージェントの起動後、ヘルスイベントはありません。', filter: 'フィルター（ / ）', language: '言語', theme: 'テーマ',
    themeAuto: 'システム', themeLight: 'ライト', themeDark: 'ダーク', settings: '設定', loading: '読み込み中…',
    notMeasured: 'GPU のデータはまだ取得されていません', asOf: '取得時刻', noAnswer: '応答なし', ended: '接続が切れました',
    tokenNeeded: 'このページの表示には、メトリクスを読み取れるトークンが必要です。', token: 'トークン', open: '開く',
    mapLabel: 'ノードマップ。下の表に同じ内容があります', more: 'ほかに N 件あります。フィルターで絞り込んでください。',
    cordoned: 'スケジュール不可', noPool: 'プールなし', pending: 'Pending', pods: 'Pod 数',
    cluster: 'GPU クラスター',
    functions: '関数', calls: '呼び出し数', waiting: '待機中', start: 'コールドスタート', colon: ': ',
  },
};

let language = 'en';

// 'ko-KR' → 'ko'; English for a language without texts.
function setLanguage(code) {
  const head = String(code || '').slice(0, 2).toLowerCase();
  language = kTexts[head] ? head : 'en';
  document.documentElement.lang = language === 'zh' ? 'zh-CN' : language;
}

function t(key) {
  return kTexts[language][key] || kTexts.en[key] || key;
}

function labelled(key, text) {
  return `${t(key)}${t('colon')}${text}`;
}
