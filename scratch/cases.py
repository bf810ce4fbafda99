import sys, os, math, pathlib, traceback, tarfile
sys.path.insert(0,'tools')
import torch, transformers
import reference as R
from safetensors.torch import save_file, load_file
print(transformers.__version__, torch.__version__)
from transformers import *
class O: pass
def randomise(model, seed):
    g=torch.Generator().manual_seed(seed)
    for n,p in model.named_parameters():
        if not p.requires_grad: continue
        if p.dim()>=2: p.data=torch.randn(p.shape,generator=g)*(1.3/math.sqrt(p.shape[-1]) if 'embed' not in n and 'wte' not in n and 'wpe' not in n else 0.4)
        elif 'norm' in n.lower() or 'ln' in n.lower():
            gem='emma' in type(model).__name__
            p.data=(torch.zeros(p.shape) if (gem and n.endswith('weight') and 'vision' not in n) else torch.ones(p.shape) if n.endswith('weight') else torch.zeros(p.shape))+0.2*torch.randn(p.shape,generator=g)
        else: p.data=0.1*torch.randn(p.shape,generator=g)
V=97
base=dict(vocab_size=V,hidden_size=48,intermediate_size=80,num_hidden_layers=2,num_attention_heads=4,num_key_value_heads=2,max_position_embeddings=64,pad_token_id=0,bos_token_id=1,eos_token_id=2)
def ll(**k): d=dict(base); d.update(k); return d
rp=lambda **k: dict(rope_parameters=dict(rope_theta=10000.0,**k))
C=[
('llama-bias',LlamaForCausalLM,LlamaConfig,ll(attention_bias=True,mlp_bias=True)),
('llama-tied-headdim',LlamaForCausalLM,LlamaConfig,ll(tie_word_embeddings=True,head_dim=24,num_key_value_heads=1)),
('llama-linear',LlamaForCausalLM,LlamaConfig,ll(**rp(rope_type='linear',factor=4.0))),
('llama-dynamic',LlamaForCausalLM,LlamaConfig,ll(max_position_embeddings=16,**rp(rope_type='dynamic',factor=2.0))),
('llama-yarn',LlamaForCausalLM,LlamaConfig,ll(**rp(rope_type='yarn',factor=4.0,original_max_position_embeddings=16))),
('llama-yarn-truncate',LlamaForCausalLM,LlamaConfig,ll(**rp(rope_type='yarn',factor=8.0,original_max_position_embeddings=16,truncate=False,beta_fast=16,beta_slow=2))),
('llama-llama3',LlamaForCausalLM,LlamaConfig,ll(**rp(rope_type='llama3',factor=8.0,low_freq_factor=1.0,high_freq_factor=4.0,original_max_position_embeddings=32))),
('llama-one-layer',LlamaForCausalLM,LlamaConfig,ll(num_hidden_layers=1)),
('llama-gelu',LlamaForCausalLM,LlamaConfig,ll(hidden_act='gelu')),
('mistral-full',MistralForCausalLM,MistralConfig,ll(sliding_window=None)),
('mistral-w5',MistralForCausalLM,MistralConfig,ll(sliding_window=5,head_dim=16)),
('mixtral-3of5',MixtralForCausalLM,MixtralConfig,ll(num_local_experts=5,num_experts_per_tok=3)),
('mixtral-w6',MixtralForCausalLM,MixtralConfig,ll(num_local_experts=4,num_experts_per_tok=1,sliding_window=6)),
('qwen2-window',Qwen2ForCausalLM,Qwen2Config,ll(use_sliding_window=True,sliding_window=6,max_window_layers=1)),
('qwen2-tied',Qwen2ForCausalLM,Qwen2Config,ll(tie_word_embeddings=True)),
('qwen3-bias',Qwen3ForCausalLM,Qwen3Config,ll(attention_bias=True,head_dim=20,tie_word_embeddings=True)),
('gemma-mha',GemmaForCausalLM,GemmaConfig,ll(head_dim=16,num_key_value_heads=4)),
('gemma-bias',GemmaForCausalLM,GemmaConfig,ll(head_dim=12,attention_bias=True)),
('gemma2-b',Gemma2ForCausalLM,Gemma2Config,ll(head_dim=16,num_hidden_layers=3,sliding_window=7,query_pre_attn_scalar=32,attn_logit_softcapping=5.0,final_logit_softcapping=3.0)),
('gemma2-nocap',Gemma2ForCausalLM,Gemma2Config,ll(head_dim=16,sliding_window=7,attn_logit_softcapping=None,final_logit_softcapping=None)),
('gemma3-b',Gemma3ForCausalLM,Gemma3TextConfig,ll(head_dim=16,num_hidden_layers=4,sliding_window=6,query_pre_attn_scalar=24,layer_types=['sliding_attention','full_attention','sliding_attention','full_attention'],rope_parameters=dict(full_attention=dict(rope_theta=100000.0,rope_type='linear',factor=8.0),sliding_attention=dict(rope_theta=10000.0,rope_type='default')))),
('phi3-partial',Phi3ForCausalLM,Phi3Config,ll(rope_parameters=dict(rope_theta=10000.0,rope_type='default',partial_rotary_factor=0.5))),
('phi3-window',Phi3ForCausalLM,Phi3Config,ll(sliding_window=6,tie_word_embeddings=True)),
('phi3-longrope',Phi3ForCausalLM,Phi3Config,ll(max_position_embeddings=128,original_max_position_embeddings=16,rope_parameters=dict(rope_theta=10000.0,rope_type='longrope',short_factor=[1.0,1.1,1.2,1.3,1.4,1.5],long_factor=[2.0,2.5,3.0,3.5,4.0,4.5],original_max_position_embeddings=16))),
('falcon-rw',FalconForCausalLM,FalconConfig,dict(vocab_size=V,hidden_size=48,num_hidden_layers=2,num_attention_heads=4,alibi=True,new_decoder_architecture=False,multi_query=False,parallel_attn=False,bias=True,max_position_embeddings=64)),
('falcon-rw-parallel',FalconForCausalLM,FalconConfig,dict(vocab_size=V,hidden_size=48,num_hidden_layers=2,num_attention_heads=6,alibi=True,new_decoder_architecture=False,multi_query=True,parallel_attn=True,bias=True,max_position_embeddings=64)),
('falcon-one-norm',FalconForCausalLM,FalconConfig,dict(vocab_size=V,hidden_size=64,num_hidden_layers=2,num_attention_heads=8,num_kv_heads=4,new_decoder_architecture=True,num_ln_in_parallel_attn=1,max_position_embeddings=64)),
('falcon-mha-rotary',FalconForCausalLM,FalconConfig,dict(vocab_size=V,hidden_size=48,num_hidden_layers=2,num_attention_heads=4,multi_query=False,parallel_attn=False,new_decoder_architecture=False,max_position_embeddings=64,ffn_hidden_size=100)),
('gpt2-inner',GPT2LMHeadModel,GPT2Config,dict(vocab_size=V,n_positions=40,n_embd=48,n_layer=2,n_head=4,n_inner=70,activation_function='relu',bos_token_id=1,eos_token_id=2)),
('gpt2-untied',GPT2LMHeadModel,GPT2Config,dict(vocab_size=V,n_positions=40,n_embd=48,n_layer=3,n_head=6,tie_word_embeddings=False,bos_token_id=1,eos_token_id=2)),
('gpt2-inverse-layer',GPT2LMHeadModel,GPT2Config,dict(vocab_size=V,n_positions=40,n_embd=48,n_layer=3,n_head=6,scale_attn_by_inverse_layer_idx=True,bos_token_id=1,eos_token_id=2)),
('gpt2-unscaled',GPT2LMHeadModel,GPT2Config,dict(vocab_size=V,n_positions=40,n_embd=48,n_layer=2,n_head=6,scale_attn_weights=False,bos_token_id=1,eos_token_id=2)),
('neox-serial',GPTNeoXForCausalLM,GPTNeoXConfig,dict(vocab_size=V,hidden_size=48,num_hidden_layers=2,num_attention_heads=4,intermediate_size=90,max_position_embeddings=64,use_parallel_residual=False,bos_token_id=1,eos_token_id=2,rope_parameters=dict(rope_theta=10000.0,rope_type='default',partial_rotary_factor=1.0))),
('neox-nobias',GPTNeoXForCausalLM,GPTNeoXConfig,dict(vocab_size=V,hidden_size=48,num_hidden_layers=2,num_attention_heads=3,intermediate_size=90,max_position_embeddings=64,attention_bias=False,tie_word_embeddings=True,bos_token_id=1,eos_token_id=2)),
('deepseek-yarn',DeepseekV2ForCausalLM,DeepseekV2Config,ll(num_key_value_heads=4,kv_lora_rank=20,q_lora_rank=16,qk_nope_head_dim=10,qk_rope_head_dim=6,v_head_dim=12,n_routed_experts=6,n_shared_experts=2,num_experts_per_tok=3,moe_intermediate_size=24,first_k_dense_replace=1,routed_scaling_factor=2.5,n_group=1,topk_group=1,topk_method='greedy',rope_parameters=dict(rope_theta=10000.0,rope_type='yarn',factor=4.0,original_max_position_embeddings=16,mscale=0.707,mscale_all_dim=0.707,beta_fast=32,beta_slow=1))),
('deepseek-norm',DeepseekV2ForCausalLM,DeepseekV2Config,ll(num_key_value_heads=4,kv_lora_rank=20,q_lora_rank=None,qk_nope_head_dim=10,qk_rope_head_dim=6,v_head_dim=12,n_routed_experts=6,n_shared_experts=1,num_experts_per_tok=3,moe_intermediate_size=24,first_k_dense_replace=0,norm_topk_prob=True,n_group=3,topk_group=2,topk_method='group_limited_greedy')),
('bert-b',BertForMaskedLM,BertConfig,dict(vocab_size=V,hidden_size=48,num_hidden_layers=3,num_attention_heads=6,intermediate_size=70,hidden_act='relu',max_position_embeddings=40)),
('roberta-b',RobertaForMaskedLM,RobertaConfig,dict(vocab_size=V,hidden_size=48,num_hidden_layers=3,num_attention_heads=6,intermediate_size=70,max_position_embeddings=40,type_vocab_size=1,pad_token_id=1)),
('longformer-b',LongformerForMaskedLM,LongformerConfig,dict(vocab_size=V,hidden_size=48,num_hidden_layers=2,num_attention_heads=6,intermediate_size=70,max_position_embeddings=60,attention_window=[4,8],pad_token_id=1)),
('t5-untied',T5ForConditionalGeneration,T5Config,dict(vocab_size=V,d_model=40,d_kv=10,d_ff=64,num_layers=2,num_decoder_layers=3,num_heads=5,feed_forward_proj='gated-gelu',tie_word_embeddings=False,decoder_start_token_id=0,pad_token_id=0)),
('t5-silu',T5ForConditionalGeneration,T5Config,dict(vocab_size=V,d_model=40,d_kv=12,d_ff=64,num_layers=3,num_decoder_layers=1,num_heads=4,feed_forward_proj='gated-silu',relative_attention_num_buckets=6,relative_attention_max_distance=12,decoder_start_token_id=0,pad_token_id=0)),
('bart-b',BartForConditionalGeneration,BartConfig,dict(vocab_size=V,d_model=48,encoder_layers=1,decoder_layers=3,encoder_attention_heads=3,decoder_attention_heads=6,encoder_ffn_dim=60,decoder_ffn_dim=72,max_position_embeddings=40,scale_embedding=True,activation_function='relu',forced_eos_token_id=None)),
('marian-b',MarianMTModel,MarianConfig,dict(vocab_size=V,d_model=48,encoder_layers=2,decoder_layers=2,encoder_attention_heads=4,decoder_attention_heads=4,encoder_ffn_dim=60,decoder_ffn_dim=60,max_position_embeddings=40,activation_function='swish',scale_embedding=True,pad_token_id=1,decoder_start_token_id=1,eos_token_id=2,forced_eos_token_id=None)),
('vit-b',ViTForImageClassification,ViTConfig,dict(hidden_size=48,num_hidden_layers=2,num_attention_heads=6,intermediate_size=70,image_size=24,patch_size=6,num_channels=1,num_labels=7,qkv_bias=False,hidden_act='gelu_new')),
('siglip-b',SiglipModel,SiglipConfig,dict(text_config=dict(vocab_size=V,hidden_size=48,intermediate_size=60,num_hidden_layers=2,num_attention_heads=6,max_position_embeddings=12,projection_size=40,hidden_act='gelu'),vision_config=dict(hidden_size=40,intermediate_size=60,num_hidden_layers=2,num_attention_heads=5,image_size=24,patch_size=8))),
]
def make(name,kind,conf,kw,i,out):
    torch.manual_seed(i)
    cfg=conf(**kw)
    model=kind._from_config(cfg,attn_implementation='eager') if hasattr(kind,'_from_config') else kind(cfg)
    model=model.float().eval()
    for m in model.modules():
        if isinstance(m,torch.nn.Dropout): m.p=0.0
    randomise(model,i)
    d=out/name; d.mkdir(parents=True,exist_ok=True)
    model.save_pretrained(d)
    model=kind.from_pretrained(d,dtype=torch.float32,attn_implementation='eager').eval()
    for m in model.modules():
        if isinstance(m,torch.nn.Dropout): m.p=0.0
    o=O(); o.batch=2; o.text_length=30 if 'longformer' not in name else 27; o.new_tokens=16
    if 'siglip' in name: o.text_length=12
    torch.manual_seed(100+i)
    inputs=R.random_inputs(model,o)
    if 'bert-b' in name and 'ro' not in name: inputs['token_type_ids']=torch.randint(0,2,inputs['input_ids'].shape)
    if 'longformer' in name:
        g=torch.zeros_like(inputs['input_ids']); g[:,0]=1; g[0,9]=1; inputs['global_attention_mask']=g
    if 'attention_mask' in inputs: inputs['attention_mask'][1,-5:]=0
    from safetensors import safe_open
    names=set()
    for f in d.glob('*.safetensors'):
        with safe_open(f,'pt') as s: names|=set(s.keys())
    e=dict(inputs); e|=R.forward_results(model,inputs)
    try: e|=R.loss_and_gradients(model,inputs,names)
    except Exception as ex: print(name,'loss',repr(ex)[:200])
    e|=R.greedy_results(model,inputs,o)
    meta={'source':transformers.__version__}
    if model.config.is_encoder_decoder: meta['decoder_start']=str(model.config.decoder_start_token_id)
    save_file({k:v.detach().contiguous().clone() for k,v in e.items()},str(d/'expected.safetensors'),metadata=meta)
    print('ok',name,len(e))
out=pathlib.Path('/tmp/cases'); out.mkdir(exist_ok=True)
for i,(n,k,c,kw) in enumerate(C):
    try: make(n,k,c,kw,i,out)
    except Exception as ex:
        print('FAIL',n,repr(ex)[:300]); traceback.print_exc(limit=2)
O_=os.environ['OUT']
names=sorted(p for p in out.iterdir() if (p/'expected.safetensors').exists())
half=len(names)//3+1
for j in range(0,len(names),half):
    with tarfile.open(f'{O_}/cases{j//half}.tar.gz','w:gz') as t:
        for p in names[j:j+half]: t.add(p,arcname=p.name)
# marian golden
d='tests/goldens/marian-original-transformer'
m=MarianMTModel.from_pretrained(d,attn_implementation='eager').eval()
e=load_file(d+'/expected.safetensors')
with torch.no_grad(): o=m(input_ids=e['input_ids'],attention_mask=e['attention_mask'],decoder_input_ids=e['decoder_input_ids'])
print('marian enc err',((o.encoder_last_hidden_state-e['encoder_last_hidden']).norm()/e['encoder_last_hidden'].norm()).item())
for part in ('encoder','decoder'):
    w=getattr(m.model,part).embed_positions.weight; print(part,w.shape,w.std().item(),w[:3,:4],w[:3,24:28])
w2=m.model.encoder.embed_positions.create_weight() if hasattr(m.model.encoder.embed_positions,'create_weight') else None
print(None if w2 is None else w2[:3,:4])
import inspect
from transformers.models.marian import modeling_marian as mm
print(inspect.getsource(mm.MarianSinusoidalPositionalEmbedding))
print(inspect.getsource(mm.MarianPreTrainedModel))
for seed in range(0,200):
    pass
