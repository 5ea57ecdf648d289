// Written by deploy/renew_known_models.ts; do not edit.
// Source: models.dev, repository anomalyco/models.dev (MIT), commit f3fc692299671838c7c65fd8126bf84d81a2e817

/**
 * One provider per line: ID, name, dialects, base URL, variables that its own tools read a key from, or a part of the URL
 * (`resource=NAME`), and where it is documented. Facts that are not published, or that depart, are in `own.ts`.
 */
export const TABLE = `
302ai|302.AI|chat|https://api.302.ai/v1|302AI_API_KEY|https://doc.302.ai
abacus|Abacus|chat|https://routellm.abacus.ai/v1|ABACUS_API_KEY|https://abacus.ai/help/api
abliteration-ai|abliteration.ai|chat|https://api.abliteration.ai/v1|ABLIT_KEY|https://docs.abliteration.ai/models
alibaba-cn|Alibaba (China)|chat|https://dashscope.aliyuncs.com/compatible-mode/v1|DASHSCOPE_API_KEY|https://www.alibabacloud.com/help/en/model-studio/models
alibaba-coding-plan-cn|Alibaba Coding Plan (China)|chat|https://coding.dashscope.aliyuncs.com/v1|ALIBABA_CODING_PLAN_API_KEY|https://help.aliyun.com/zh/model-studio/coding-plan
alibaba-coding-plan|Alibaba Coding Plan|chat|https://coding-intl.dashscope.aliyuncs.com/v1|ALIBABA_CODING_PLAN_API_KEY|https://www.alibabacloud.com/help/en/model-studio/coding-plan
alibaba-token-plan-cn|Alibaba Token Plan (China)|chat|https://token-plan.cn-beijing.maas.aliyuncs.com/compatible-mode/v1|ALIBABA_TOKEN_PLAN_API_KEY|https://www.alibabacloud.com/help/zh/model-studio/token-plan-overview
alibaba-token-plan|Alibaba Token Plan|chat|https://token-plan.ap-southeast-1.maas.aliyuncs.com/compatible-mode/v1|ALIBABA_TOKEN_PLAN_API_KEY|https://www.alibabacloud.com/help/en/model-studio/token-plan-overview
alibaba|Alibaba|chat|https://dashscope-intl.aliyuncs.com/compatible-mode/v1|DASHSCOPE_API_KEY|https://www.alibabacloud.com/help/en/model-studio/models
ambient|Ambient|chat|https://api.ambient.xyz/v1|AMBIENT_API_KEY|https://ambient.xyz
anyapi|AnyAPI|chat|https://api.anyapi.ai/v1|ANYAPI_API_KEY|https://docs.anyapi.ai
atomic-chat|Atomic Chat|chat|http://127.0.0.1:1337/v1|ATOMIC_CHAT_API_KEY|https://atomic.chat
auriko|Auriko|chat|https://api.auriko.ai/v1|AURIKO_API_KEY|https://docs.auriko.ai
bailing|Bailing|chat|https://api.tbox.cn/api/llm/v1|BAILING_API_TOKEN|https://alipaytbox.yuque.com/sxs0ba/ling/intro
baseten|Baseten|chat|https://inference.baseten.co/v1|BASETEN_API_KEY|https://docs.baseten.co/inference/model-apis/overview
berget|Berget.AI|chat|https://api.berget.ai/v1|BERGET_API_KEY|https://api.berget.ai
chutes|Chutes|chat|https://llm.chutes.ai/v1|CHUTES_API_KEY|https://llm.chutes.ai/v1/models
clarifai|Clarifai|chat|https://api.clarifai.com/v2/ext/openai/v1|CLARIFAI_PAT|https://docs.clarifai.com/compute/inference/
claudinio|Claudinio|chat|https://api.claudin.io/v1|CLAUDINIO_API_KEY|https://claudin.io
cloudferro-sherlock|CloudFerro Sherlock|chat|https://api-sherlock.cloudferro.com/openai/v1/|CLOUDFERRO_SHERLOCK_API_KEY|https://docs.sherlock.cloudferro.com/
cloudflare-workers-ai|Cloudflare Workers AI|chat|https://api.cloudflare.com/client/v4/accounts/{resource}/ai/v1|resource=CLOUDFLARE_ACCOUNT_ID,CLOUDFLARE_API_KEY|https://developers.cloudflare.com/workers-ai/models/
cortecs|Cortecs|chat|https://api.cortecs.ai/v1|CORTECS_API_KEY|https://api.cortecs.ai/v1/models
crof|CrofAI|chat|https://crof.ai/v1|CROF_API_KEY|https://crof.ai/docs
databricks|Databricks|chat|https://{resource}/ai-gateway/mlflow/v1|resource=DATABRICKS_HOST,DATABRICKS_TOKEN|https://docs.databricks.com/aws/en/machine-learning/foundation-models/
deepseek|DeepSeek|chat|https://api.deepseek.com|DEEPSEEK_API_KEY|https://api-docs.deepseek.com/quick_start/pricing
digitalocean|DigitalOcean|chat|https://inference.do-ai.run/v1|DIGITALOCEAN_ACCESS_TOKEN|https://docs.digitalocean.com/products/gradient-ai-platform/details/models/
dinference|DInference|chat|https://api.dinference.com/v1|DINFERENCE_API_KEY|https://dinference.com
drun|D.Run (China)|chat|https://chat.d.run/v1|DRUN_API_KEY|https://www.d.run
evroc|evroc|chat|https://models.think.evroc.com/v1|EVROC_API_KEY|https://docs.evroc.com/products/think/overview.html
fastrouter|FastRouter|chat|https://go.fastrouter.ai/api/v1|FASTROUTER_API_KEY|https://fastrouter.ai/models
fireworks-ai|Fireworks AI|chat|https://api.fireworks.ai/inference/v1/|FIREWORKS_API_KEY|https://fireworks.ai/docs/
freemodel|FreeModel|messages|https://cc.freemodel.dev/v1|FREEMODEL_API_KEY|https://freemodel.dev
friendli|Friendli|chat|https://api.friendli.ai/serverless/v1|FRIENDLI_TOKEN|https://friendli.ai/docs/guides/serverless_endpoints/introduction
frogbot|FrogBot|chat|https://app.frogbot.ai/api/v1|FROGBOT_API_KEY|https://docs.frogbot.ai
github-copilot|GitHub Copilot|chat|https://api.githubcopilot.com|GITHUB_TOKEN|https://docs.github.com/en/copilot
github-models|GitHub Models|chat|https://models.github.ai/inference|GITHUB_TOKEN|https://docs.github.com/en/github-models
gmicloud|GMI Cloud|chat|https://api.gmi-serving.com/v1|GMICLOUD_API_KEY|https://docs.gmicloud.ai/inference-engine/api-reference/llm-api-reference
helicone|Helicone|chat|https://ai-gateway.helicone.ai/v1|HELICONE_API_KEY|https://helicone.ai/models
hpc-ai|HPC-AI|chat|https://api.hpc-ai.com/inference/v1|HPC_AI_API_KEY|https://www.hpc-ai.com/doc/docs/quickstart/
huggingface|Hugging Face|chat|https://router.huggingface.co/v1|HF_TOKEN|https://huggingface.co/docs/inference-providers
iflowcn|iFlow|chat|https://apis.iflow.cn/v1|IFLOW_API_KEY|https://platform.iflow.cn/en/docs
inception|Inception|chat|https://api.inceptionlabs.ai/v1/|INCEPTION_API_KEY|https://platform.inceptionlabs.ai/docs
inceptron|Inceptron|chat|https://api.inceptron.io/v1|INCEPTRON_API_KEY|https://docs.inceptron.io
inference|Inference|chat|https://inference.net/v1|INFERENCE_API_KEY|https://inference.net/models
io-net|IO.NET|chat|https://api.intelligence.io.solutions/api/v1|IOINTELLIGENCE_API_KEY|https://io.net/docs/guides/intelligence/io-intelligence
jiekou|Jiekou.AI|chat|https://api.jiekou.ai/openai|JIEKOU_API_KEY|https://docs.jiekou.ai/docs/support/quickstart?utm_source=github_models.dev
kilo|Kilo Gateway|chat|https://api.kilo.ai/api/gateway|KILO_API_KEY|https://kilo.ai
kimi-for-coding|Kimi For Coding|messages|https://api.kimi.com/coding/v1|KIMI_API_KEY|https://www.kimi.com/code/docs/en/third-party-tools/other-coding-agents.html
kuae-cloud-coding-plan|KUAE Cloud Coding Plan|chat|https://coding-plan-endpoint.kuaecloud.net/v1|KUAE_API_KEY|https://docs.mthreads.com/kuaecloud/kuaecloud-doc-online/coding_plan/
lilac|Lilac|chat|https://api.getlilac.com/v1|LILAC_API_KEY|https://docs.getlilac.com/inference/models
llama|Llama|chat|https://api.llama.com/compat/v1/|LLAMA_API_KEY|https://llama.developer.meta.com/docs/models
llmgateway|LLM Gateway|chat|https://api.llmgateway.io/v1|LLMGATEWAY_API_KEY|https://llmgateway.io/docs
llmtr|LLMTR|chat|https://llmtr.com/v1|LLMTR_API_KEY|https://llmtr.com/docs
lmstudio|LMStudio|chat|http://127.0.0.1:1234/v1|LMSTUDIO_API_KEY|https://lmstudio.ai/models
lucidquery|LucidQuery|chat|https://api.lucidquery.com/v1|LUCIDQUERY_API_KEY|https://lucidquery.com/docs
meganova|Meganova|chat|https://api.meganova.ai/v1|MEGANOVA_API_KEY|https://docs.meganova.ai
minimax-cn-coding-plan|MiniMax Token Plan (minimaxi.com)|messages|https://api.minimaxi.com/anthropic/v1|MINIMAX_API_KEY|https://platform.minimaxi.com/docs/token-plan/intro
minimax-cn|MiniMax (minimaxi.com)|messages|https://api.minimaxi.com/anthropic/v1|MINIMAX_API_KEY|https://platform.minimaxi.com/docs/guides/quickstart
minimax-coding-plan|MiniMax Token Plan (minimax.io)|messages|https://api.minimax.io/anthropic/v1|MINIMAX_API_KEY|https://platform.minimax.io/docs/token-plan/intro
minimax|MiniMax (minimax.io)|messages|https://api.minimax.io/anthropic/v1|MINIMAX_API_KEY|https://platform.minimax.io/docs/guides/quickstart
mixlayer|Mixlayer|chat|https://models.mixlayer.ai/v1|MIXLAYER_API_KEY|https://docs.mixlayer.com
moark|Moark|chat|https://moark.com/v1|MOARK_API_KEY|https://moark.com/docs/openapi/v1#tag/%E6%96%87%E6%9C%AC%E7%94%9F%E6%88%90
modelscope|ModelScope|chat|https://api-inference.modelscope.cn/v1|MODELSCOPE_API_KEY|https://modelscope.cn/docs/model-service/API-Inference/intro
moonshotai-cn|Moonshot AI (China)|chat|https://api.moonshot.cn/v1|MOONSHOT_API_KEY|https://platform.moonshot.cn/docs/api/chat
moonshotai|Moonshot AI|chat|https://api.moonshot.ai/v1|MOONSHOT_API_KEY|https://platform.moonshot.ai/docs/api/chat
morph|Morph|chat|https://api.morphllm.com/v1|MORPH_API_KEY|https://docs.morphllm.com/api-reference/introduction
nano-gpt|NanoGPT|chat|https://nano-gpt.com/api/v1|NANO_GPT_API_KEY|https://docs.nano-gpt.com
nearai|NEAR AI Cloud|chat|https://cloud-api.near.ai/v1|NEARAI_API_KEY|https://docs.near.ai/
nebius|Nebius Token Factory|chat|https://api.tokenfactory.nebius.com/v1|NEBIUS_API_KEY|https://docs.tokenfactory.nebius.com/
neon|Neon|chat|https://{resource}/ai-gateway/mlflow/v1|resource=NEON_AI_GATEWAY_BASE_URL,NEON_AI_GATEWAY_TOKEN|https://neon.com/docs
neuralwatt|Neuralwatt|chat|https://api.neuralwatt.com/v1|NEURALWATT_API_KEY|https://portal.neuralwatt.com/docs
nova|Nova|chat|https://api.nova.amazon.com/v1|NOVA_API_KEY|https://nova.amazon.com/dev/documentation
novita-ai|NovitaAI|chat|https://api.novita.ai/openai|NOVITA_API_KEY|https://novita.ai/docs/guides/introduction
nvidia|Nvidia|chat|https://integrate.api.nvidia.com/v1|NVIDIA_API_KEY|https://docs.api.nvidia.com/nim/
ollama-cloud|Ollama Cloud|chat|https://ollama.com/v1|OLLAMA_API_KEY|https://docs.ollama.com/cloud
opencode-go|OpenCode Go|chat|https://opencode.ai/zen/go/v1|OPENCODE_API_KEY|https://opencode.ai/docs/zen
opencode|OpenCode Zen|chat|https://opencode.ai/zen/v1|OPENCODE_API_KEY|https://opencode.ai/docs/zen
openrouter|OpenRouter|chat|https://openrouter.ai/api/v1|OPENROUTER_API_KEY|https://openrouter.ai/models
orcarouter|OrcaRouter|chat|https://api.orcarouter.ai/v1|ORCAROUTER_API_KEY|https://docs.orcarouter.ai
ovhcloud|OVHcloud AI Endpoints|chat|https://oai.endpoints.kepler.ai.cloud.ovh.net/v1|OVHCLOUD_API_KEY|https://www.ovhcloud.com/en/public-cloud/ai-endpoints/catalog//
perplexity-agent|Perplexity Agent|responses,chat|https://api.perplexity.ai/v1|PERPLEXITY_API_KEY|https://docs.perplexity.ai/docs/agent-api/models
poe|Poe|chat|https://api.poe.com/v1|POE_API_KEY|https://creator.poe.com/docs/external-applications/openai-compatible-api
poolside|Poolside|chat|https://inference.poolside.ai/v1|POOLSIDE_API_KEY|https://platform.poolside.ai
privatemode-ai|Privatemode AI|chat|http://localhost:8080/v1|PRIVATEMODE_API_KEY,PRIVATEMODE_ENDPOINT|https://docs.privatemode.ai/api/overview
qihang-ai|QiHang|chat|https://api.qhaigc.net/v1|QIHANG_API_KEY|https://www.qhaigc.net/docs
qiniu-ai|Qiniu|chat|https://api.qnaigc.com/v1|QINIU_API_KEY|https://developer.qiniu.com/aitokenapi
regolo-ai|Regolo AI|chat|https://api.regolo.ai/v1|REGOLO_API_KEY|https://docs.regolo.ai/
requesty|Requesty|chat|https://router.requesty.ai/v1|REQUESTY_API_KEY|https://requesty.ai/solution/llm-routing/models
routing-run|routing.run|chat|https://ai.routing.sh/v1|ROUTING_RUN_API_KEY|https://docs.routing.run/api-reference/models
sakana|Sakana AI|chat|https://api.sakana.ai/v1|SAKANA_API_KEY|https://console.sakana.ai/models
sarvam|Sarvam AI|chat|https://api.sarvam.ai/v1|SARVAM_API_KEY|https://docs.sarvam.ai/api-reference-docs/getting-started/models
scaleway|Scaleway|chat|https://api.scaleway.ai/v1|SCALEWAY_API_KEY|https://www.scaleway.com/en/docs/generative-apis/
siliconflow-cn|SiliconFlow (China)|chat|https://api.siliconflow.cn/v1|SILICONFLOW_CN_API_KEY|https://cloud.siliconflow.com/models
siliconflow|SiliconFlow|chat|https://api.siliconflow.com/v1|SILICONFLOW_API_KEY|https://cloud.siliconflow.com/models
snowflake-cortex|Snowflake Cortex|chat|https://{resource}.snowflakecomputing.com/api/v2/cortex/v1|resource=SNOWFLAKE_ACCOUNT,SNOWFLAKE_CORTEX_PAT|https://docs.snowflake.com/en/user-guide/snowflake-cortex/cortex-rest-api
stackit|STACKIT|chat|https://api.openai-compat.model-serving.eu01.onstackit.cloud/v1|STACKIT_API_KEY|https://docs.stackit.cloud/products/data-and-ai/ai-model-serving/basics/available-shared-models
stepfun-ai|StepFun AI|chat|https://api.stepfun.ai/step_plan/v1|STEPFUN_API_KEY|https://platform.stepfun.ai/docs/en/step-plan/integrations/open-code
stepfun|StepFun|chat|https://api.stepfun.com/v1|STEPFUN_API_KEY|https://platform.stepfun.com/docs/zh/overview/concept
subconscious|Subconscious|chat|https://api.subconscious.dev/v1|SUBCONSCIOUS_API_KEY|https://docs.subconscious.dev
submodel|submodel|chat|https://llm.submodel.ai/v1|SUBMODEL_INSTAGEN_ACCESS_KEY|https://submodel.gitbook.io
synthetic|Synthetic|chat|https://api.synthetic.new/openai/v1|SYNTHETIC_API_KEY|https://synthetic.new/pricing
tencent-coding-plan|Tencent Coding Plan (China)|chat|https://api.lkeap.cloud.tencent.com/coding/v3|TENCENT_CODING_PLAN_API_KEY|https://cloud.tencent.com/document/product/1772/128947
tencent-tokenhub|Tencent TokenHub|chat|https://tokenhub.tencentmaas.com/v1|TENCENT_TOKENHUB_API_KEY|https://cloud.tencent.com/document/product/1823/130050
the-grid-ai|The Grid AI|chat|https://api.thegrid.ai/v1|THEGRIDAI_API_KEY|https://thegrid.ai/docs
tinfoil|Tinfoil|chat|https://inference.tinfoil.sh/v1|TINFOIL_API_KEY|https://docs.tinfoil.sh
umans-ai-coding-plan|Umans AI Coding Plan|chat|https://api.code.umans.ai/v1|UMANS_AI_CODING_PLAN_API_KEY|https://app.umans.ai/offers/code/docs
umans-ai|Umans AI|chat|https://api.code.umans.ai/v1|UMANS_AI_API_KEY|https://app.umans.ai/offers/code/docs/orgs
upstage|Upstage|chat|https://api.upstage.ai/v1/solar|UPSTAGE_API_KEY|https://developers.upstage.ai/docs/apis/chat
vivgrid|Vivgrid|responses,chat|https://api.vivgrid.com/v1|VIVGRID_API_KEY|https://docs.vivgrid.com/models
vultr|Vultr|chat|https://api.vultrinference.com/v1|VULTR_API_KEY|https://api.vultrinference.com/
wafer.ai|Wafer|chat|https://pass.wafer.ai/v1|WAFER_API_KEY|https://docs.wafer.ai/wafer-pass
wandb|Weights & Biases|chat|https://api.inference.wandb.ai/v1|WANDB_API_KEY|https://docs.wandb.ai/guides/integrations/inference/
xiaomi-token-plan-ams|Xiaomi Token Plan (Europe)|chat|https://token-plan-ams.xiaomimimo.com/v1|XIAOMI_API_KEY|https://platform.xiaomimimo.com/#/docs
xiaomi-token-plan-cn|Xiaomi Token Plan (China)|chat|https://token-plan-cn.xiaomimimo.com/v1|XIAOMI_API_KEY|https://platform.xiaomimimo.com/#/docs
xiaomi-token-plan-sgp|Xiaomi Token Plan (Singapore)|chat|https://token-plan-sgp.xiaomimimo.com/v1|XIAOMI_API_KEY|https://platform.xiaomimimo.com/#/docs
xiaomi|Xiaomi|chat|https://api.xiaomimimo.com/v1|XIAOMI_API_KEY|https://platform.xiaomimimo.com/#/docs
xpersona|Xpersona|chat|https://www.xpersona.co/v1|XPERSONA_API_KEY|https://www.xpersona.co/docs
zai-coding-plan|Z.AI Coding Plan|chat|https://api.z.ai/api/coding/paas/v4|ZHIPU_API_KEY|https://docs.z.ai/devpack/overview
zai|Z.AI|chat|https://api.z.ai/api/paas/v4|ZHIPU_API_KEY|https://docs.z.ai/guides/overview/pricing
zeldoc|Zeldoc|chat|https://api.zeldoc.ai/v1|ZELDOC_API_KEY|https://docs.zeldoc.ai
zenmux|ZenMux|chat|https://zenmux.ai/api/v1|ZENMUX_API_KEY|https://docs.zenmux.ai
zhipuai-coding-plan|Zhipu AI Coding Plan|chat|https://open.bigmodel.cn/api/coding/paas/v4|ZHIPU_API_KEY|https://docs.bigmodel.cn/cn/coding-plan/overview
zhipuai|Zhipu AI|chat|https://open.bigmodel.cn/api/paas/v4|ZHIPU_API_KEY|https://docs.z.ai/guides/overview/pricing
`;
