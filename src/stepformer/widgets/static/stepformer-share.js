/* stepformer, MIT licence. Built from web/ by "make web": edit the sources, not this file. */
(()=>{var X=Object.defineProperty;var H=(e,n)=>{for(var s in n)X(e,s,{get:n[s],enumerable:!0})};var q={};H(q,{follow:()=>he,link:()=>J,menu:()=>ue});var{COMMA:xe,GROUP:ge,OPS:be,POINT:we,SHOWN_TERMS:_e,Scene:ke,Voice:ye,at:$e,contributions:Ne,count:Te,define:Se,element:ve,evaluate:Ae,fill:Oe,format:Ce,formatCell:qe,formulaOf:je,fromNested:Ee,h:g,icon:Re,indexOf:ze,keepKeys:Ie,narrow:Me,needList:Le,needObject:De,needText:Pe,offset:Ue,parseGrouped:Fe,parseNumber:We,parseProgram:Be,pieces:Ge,placeOf:Ve,references:Je,sentence:Ke,sentenceOf:Xe,setAttribute:j,setText:He,spokenValue:Ye,tensor:Qe,textsOf:E,variableName:Ze}=globalThis.stepformerShared;var R=`"""Every op of a recorded program as plain NumPy, for the code that the player's "Share" copies.

The player takes from here the imports and the functions that a program uses. What the package's own ops check
(\`stepformer.ops\`) is left out: a program that the player shows has passed these checks. A test compares each function
with its op.
"""

from math import erf

import numpy as np


def matmul(a, b):
    return a @ b


def transpose(x):
    return np.swapaxes(x, -1, -2)


def add(a, b):
    return a + b


def subtract(a, b):
    return a - b


def multiply(a, b):
    return a * b


def divide(a, b):
    return a / b


def scale(scores, query):
    return scores / np.sqrt(query.shape[-1])


def scale_up(x):
    return x * np.sqrt(x.shape[-1])


def linear(x, weight, bias):
    return x @ weight + bias


def add_pairs(a, b):
    return a[..., :, None, :] + b[..., None, :, :]


def total(x, *, axis):
    return x.sum(axis=axis)


def count_rows(x):
    return np.array(x.shape[-2])


def copy(x):
    return x.copy()


def causal_mask(query, key):
    n_q, n_k = query.shape[-2], key.shape[-2]
    return np.arange(n_k) <= np.arange(n_q)[:, None] + (n_k - n_q)


def padding_mask(tokens, *, pad_id):
    return (tokens != pad_id)[..., None, :]


def both(a, b):
    return a & b


def share_across_heads(allowed):
    return allowed[..., None, :, :]


def mask(scores, allowed):
    return np.where(allowed, scores, -np.inf)


def mask_with_zero(scores, allowed):
    return np.where(allowed, scores, 0.0)


def mask_opposite(scores, allowed):
    return np.where(allowed, -np.inf, scores)


def mask_transposed(scores, allowed):
    return np.where(np.swapaxes(allowed, -1, -2), scores, -np.inf)


def zero_masked(x, allowed):
    return np.where(allowed.any(axis=-2)[..., :, None], x, 0.0)


def sinusoids(x, *, base):
    n, d = x.shape[-2:]
    angles = np.arange(n)[:, None] / base ** (np.arange(d) // 2 * 2 / d)
    return np.where(np.arange(d) % 2, np.cos(angles), np.sin(angles))


def sinusoids_in_blocks(x, *, base):
    n, d = x.shape[-2:]
    angles = np.arange(n)[:, None] / base ** (np.arange(0, d, 2) / d)
    return np.concatenate([np.sin(angles), np.cos(angles[:, : d // 2])], axis=-1)


def sinusoids_exponent_slip(x, *, base):
    n, d = x.shape[-2:]
    angles = np.arange(n)[:, None] / base ** (2 * np.arange(d) / d)
    return np.where(np.arange(d) % 2, np.cos(angles), np.sin(angles))


def add_batch_positions(x, *, base):
    batch, _, d = x.shape[-3:]
    angles = np.arange(batch)[:, None] / base ** (np.arange(d) // 2 * 2 / d)
    return x + np.where(np.arange(d) % 2, np.cos(angles), np.sin(angles))[:, None, :]


def first_rows(table, x):
    return table[: x.shape[-2]]


def rotate_pairs(x, *, base):
    n, d = x.shape[-2:]
    angles = np.arange(n)[:, None] / base ** (np.arange(0, d, 2) / d)
    cosine, sine = np.cos(angles), np.sin(angles)
    even, odd = x[..., 0::2], x[..., 1::2]
    return np.stack([even * cosine - odd * sine, even * sine + odd * cosine], axis=-1).reshape(x.shape)


def distance_bias(query, key, *, slope):
    n_q, n_k = query.shape[-2], key.shape[-2]
    return -slope * np.abs(np.arange(n_q)[:, None] + (n_k - n_q) - np.arange(n_k))


def softmax(x, *, axis):
    largest = x.max(axis=axis, keepdims=True, initial=-np.inf)
    weights = np.exp(x - np.where(np.isneginf(largest), 0.0, largest))
    sums = weights.sum(axis=axis, keepdims=True)
    return np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)


def softmax_averaged(x):
    largest = x.max(axis=-1, keepdims=True, initial=-np.inf)
    weights = np.exp(x - np.where(np.isneginf(largest), 0.0, largest))
    sums = weights.sum(axis=-1, keepdims=True)
    weights = np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)
    return np.broadcast_to(weights.sum(axis=-3, keepdims=True) / max(1, x.shape[-3]), x.shape)


def hardmax(x, *, axis):
    if x.shape[axis] == 0:
        return np.zeros_like(x)
    weights = np.zeros_like(x)
    np.put_along_axis(weights, np.expand_dims(x.argmax(axis=axis), axis), 1.0, axis)
    return np.where(np.isneginf(x), 0.0, weights)


def cross_entropy(logits, targets):
    right = np.take_along_axis(logits, targets[..., None], axis=-1)
    largest = logits.max(axis=-1, keepdims=True, initial=-np.inf)
    return np.log(np.exp(logits - largest).sum(axis=-1)) - (right - largest)[..., 0]


def relu(x):
    return np.maximum(x, 0.0)


def tanh(x):
    return np.tanh(x)


def gelu(x):
    return x * (1 + np.vectorize(erf, otypes=[float])(x / np.sqrt(2))) / 2


def gelu_slope(x):
    bell = np.exp(-np.square(x) / 2) / np.sqrt(2 * np.pi)
    return (1 + np.vectorize(erf, otypes=[float])(x / np.sqrt(2))) / 2 + x * bell


def layer_norm(x, gain, bias, *, eps):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + eps) * gain + bias


def row_norm(x):
    return np.sqrt(np.square(x).sum(axis=-1, keepdims=True))


def row_total(x):
    return x.sum(axis=-1, keepdims=True)


def positive(x):
    return (x > 0).astype(float)


def exp(x):
    return np.exp(x)


def keep_top_k(x, k):
    places = np.argsort(np.argsort(-x, axis=-1, kind="stable"), axis=-1, kind="stable")
    return places < k


def keep_top_p(probabilities, p):
    order = np.argsort(-probabilities, axis=-1, kind="stable")
    ordered = np.take_along_axis(probabilities, order, axis=-1)
    before = np.concatenate([np.zeros_like(ordered[..., :1]), np.cumsum(ordered, axis=-1)[..., :-1]], axis=-1)
    kept = np.zeros(probabilities.shape, dtype=bool)
    np.put_along_axis(kept, order, before < p, axis=-1)
    return kept


def smooth(x, smoothing):
    return (1 - smoothing) * x + smoothing / x.shape[-1]


def soft_cross_entropy(logits, probabilities):
    largest = logits.max(axis=-1, keepdims=True, initial=-np.inf)
    below = logits - np.where(np.isneginf(largest), 0.0, largest)
    sums = np.exp(below).sum(axis=-1, keepdims=True)
    log_sums = np.log(np.where(sums > 0, sums, 1.0))
    return (probabilities * (log_sums - np.where(probabilities > 0, below, 0.0))).sum(axis=-1)


def clear_padding(x, tokens, *, pad_id):
    real = tokens != pad_id
    return np.where(real.reshape(real.shape + (1,) * (x.ndim - real.ndim)), x, 0.0)


def count_tokens(tokens, *, pad_id):
    return np.array((tokens != pad_id).sum())


def trim(tokens, *, front, back):
    return tokens[..., front : tokens.shape[-1] - back]


def join_pair(x, counts, *, column):
    first, second = divmod(int(counts.argmax()), x.shape[-1])
    if counts[first, second] <= 0:
        return x.copy()
    joined, i, place = np.zeros_like(x), 0, 0
    while i < len(x):
        if i + 1 < len(x) and x[i, first] and x[i + 1, second]:
            joined[place, column] = x[i, first]
            i += 2
        else:
            joined[place] = x[i]
            i += 1
        place += 1
    return joined


def mean(x, *, axis):
    return x.mean(axis=axis, keepdims=True)


def mean_square(x, *, axis, correction):
    return np.square(x).sum(axis=axis, keepdims=True) / (x.shape[axis] - correction)


def root(x, *, eps):
    return np.sqrt(x + eps)


def convolve_1d(x, weight, bias, *, before, after, stride, dilation):
    padded = np.pad(x, [(0, 0)] * (x.ndim - 2) + [(before, after), (0, 0)])
    starts = np.arange(0, padded.shape[-2] - dilation * (len(weight) - 1), stride)
    return bias + sum(padded[..., starts + k * dilation, :] @ matrix for k, matrix in enumerate(weight))


def convolve_1d_flipped(x, weight, bias, *, before, after, stride, dilation):
    padded = np.pad(x, [(0, 0)] * (x.ndim - 2) + [(before, after), (0, 0)])
    starts = np.arange(0, padded.shape[-2] - dilation * (len(weight) - 1), stride)
    return bias + sum(padded[..., starts + k * dilation, :] @ matrix for k, matrix in enumerate(weight[::-1]))


def convolve_2d(x, weight, bias, *, padding, stride):
    padded = np.pad(x, [(0, 0)] * (x.ndim - 2) + [(padding, padding)] * 2)
    windows = np.lib.stride_tricks.sliding_window_view(padded, weight.shape[2:], axis=(-2, -1))
    seen = windows[..., ::stride, ::stride, :, :]
    return np.einsum("ockl,...cyxkl->...oyx", weight, seen) + bias[:, None, None]


def convolve_2d_flipped(x, weight, bias, *, padding, stride):
    padded = np.pad(x, [(0, 0)] * (x.ndim - 2) + [(padding, padding)] * 2)
    windows = np.lib.stride_tricks.sliding_window_view(padded, weight.shape[2:], axis=(-2, -1))
    seen = windows[..., ::stride, ::stride, :, :]
    return np.einsum("ockl,...cyxkl->...oyx", weight[:, :, ::-1, ::-1], seen) + bias[:, None, None]


def embed(tokens, table):
    return table[tokens]


def one_hot(tokens, *, vocab_size):
    return (tokens[..., None] == np.arange(vocab_size)).astype(float)


def split_heads(x, *, n_heads):
    *leading, n, d = x.shape
    return np.swapaxes(x.reshape(*leading, n, n_heads, d // n_heads), -2, -3)


def merge_heads(x):
    *leading, n_heads, n, d_k = x.shape
    return np.swapaxes(x, -2, -3).reshape(*leading, n, n_heads * d_k)


def reshape_heads(x, *, n_heads):
    *leading, n, d = x.shape
    return x.reshape(*leading, n_heads, n, d // n_heads)


def concat(*parts, axis):
    return np.concatenate(parts, axis=axis)


def sigmoid(x):
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


def row(x, *, index):
    return x[..., index, :]


def stack(*rows):
    return np.stack(rows, axis=-2)


def hold(new, old, allowed, *, index):
    return np.where(allowed[..., index], new, old)
`;var z=12,Q="False None True and as assert async await break class continue def del elif else except finally for from global if in is lambda nonlocal not or pass raise return try while with yield np erf print import abs any bool divmod enumerate float int len max min range sum zip",I=new Map(R.split(/\n\n\n(?=def )/).slice(1).map(e=>[e.match(/^def (\w+)/)[1],e.trim()]));function L(e){let{program:n,run:s,steps:t,step:a}=e,o=[...new Set(t.filter(({overridden:p})=>!p).map(({op:p})=>p))],r=Z(n.tensors.map(({name:p})=>p),o),l=({id:p,axes:u,vocabulary:f,value:x})=>{let w=s.values[p],m=[f&&Array.from(w.data,_=>f[_]).join(" ")||u.join(" × "),x?"":"in place of its step"].filter(Boolean).join(", ");return`${r[p]} = ${ee(w)}${m&&`  # ${M(m)}`}`},c=t.map(({op:p,inputs:u,output:f,attributes:x,overridden:w})=>{if(w)return l(n.tensors[f]);let y=Object.entries(x).map(([m,_])=>`${m}=${D(_)}`);return`${r[f]} = ${p}(${[...u.map(m=>r[m]),...y].join(", ")})`}),d=o.some(p=>I.get(p).includes("erf"))?`from math import erf

`:"",i=r[t[a].output];return[`# ${M(n.title||"A computation")}
${d}import numpy as np`,...o.map(p=>`
${I.get(p)}`),`
# ---- given
${n.tensors.filter(({value:p})=>p).map(l).join(`
`)}`,`# ---- computed
${c.join(`
`)}`,`print(${s.values[t[a].output].dtype==="float"?`np.round(${i}, 2)`:i})
`].join(`

`)}function Z(e,n){let s=new Set([...Q.split(" "),...n]);return e.map(t=>{let a=t.normalize("NFKC").replace(/[^\p{L}\p{Nd}]+/gu,"_").replace(/^(?=\p{Nd}|$)/u,"_");for(;s.has(a);)a+="_";return s.add(a),a})}function ee({shape:e,data:n,dtype:s}){let t=0,a=(c,d)=>{if(c===e.length)return D(s==="bool"?n[t++]===1:n[t++]);let i=Array.from({length:e[c]},()=>a(c+1,`${d} `));return`[${c===e.length-1?ne(i,d):i.join(`,
${d} `)}]`},o={float:"float",int:"int",bool:"bool"}[s],r=e.length>1?`
    `:"";return`${e.includes(0)?`np.zeros((${e.join(", ")},)`:`np.array(${r}${a(0,"    ")}`}, dtype=${o})`}function ne(e,n){let s=[];for(let t=0;t<e.length;t+=z)s.push(e.slice(t,t+z).join(", "));return s.join(`,
${n} `)}function D(e){return typeof e=="boolean"?e?"True":"False":typeof e=="number"&&!Number.isFinite(e)?e>0?"np.inf":e<0?"-np.inf":"np.nan":JSON.stringify(e)}var M=e=>e.replace(/[\p{Cc}\u2028\u2029]+/gu," ").slice(0,200);var te=".cell, .column, .rowhead, .sign",se="figcaption, .formula, .sentence";function P({element:e}){let n=e.getBoundingClientRect(),s=getComputedStyle(e),t=k(getComputedStyle(e.closest(".player")).backgroundColor)??"#ffffff",a=Math.ceil(n.width)+24,o=Math.ceil(n.height)+24,r=[`<rect width="${a}" height="${o}" fill="${t}"/>`],l=d=>[d.left-n.left+12,d.top-n.top+12,d];for(let d of e.querySelectorAll(te)){let i=d.getBoundingClientRect(),p=d.closest(".box")?.getBoundingClientRect();!i.width||!d.textContent||p&&!ae(i,p)||r.push(re(d,...l(i)))}for(let d of e.querySelectorAll(se))for(let{word:i,box:p,style:u}of oe(d))r.push(U(i,u,...l(p),"start"));let c=`font-family="${F(s.fontFamily)}, sans-serif"`;return`<svg xmlns="http://www.w3.org/2000/svg" width="${a}" height="${o}" viewBox="0 0 ${a} ${o}" ${c}>${r.join("")}</svg>
`}function re(e,n,s,{width:t,height:a}){let o=getComputedStyle(e),r=k(o.backgroundColor),l=`x="${b(n)}" y="${b(s)}" width="${b(t)}" height="${b(a)}"`,c=e.matches(".cell"),d="";if(r&&c&&(d+=`<rect ${l} fill="${r}"/>`),e.matches(".chosen")&&(d+=`<rect ${l} fill="none" stroke="${k(o.color)}" stroke-width="2"/>`),e.matches(".changed")){let x=k(/(rgb|color)[^)]*\)/.exec(o.backgroundImage)?.[0]??o.color),[w,y,m,_]=[n,n+t,s,s+a].map(b),K=e.matches(".less")?`M${w} ${_}v-8l8 8z`:`M${y} ${m}v8l-8 -8z`;d+=`<path d="${K}" fill="${x}"/>`}if(o.fontSize==="0px")return d;let i=["center","end","right"].indexOf(o.textAlign),p=i===0?"middle":i>0?"end":"start",u=parseFloat(i>0?o.paddingRight:o.paddingLeft)||0,f=i===0?n+t/2:i>0?n+t-u:n+u;return d+U(e.textContent,o,f,s,{height:a},p)}function U(e,{fontSize:n,fontWeight:s,color:t},a,o,{height:r},l){let c=parseFloat(n);return`<text x="${b(a)}" y="${b(o+r/2+c*.35)}" text-anchor="${l}" font-size="${c}" font-weight="${s}" fill="${k(t)}">${F(e)}</text>`}function*oe(e){let n=document.createRange(),s=document.createTreeWalker(e,NodeFilter.SHOW_TEXT);for(;s.nextNode();){let{currentNode:t}=s,a=getComputedStyle(t.parentElement);for(let{0:o,index:r}of t.data.matchAll(/\S+/g)){n.setStart(t,r),n.setEnd(t,r+o.length);let l=n.getBoundingClientRect();l.width&&(yield{word:o,box:l,style:a})}}}var b=e=>Math.round(e*10)/10,ae=(e,n)=>e.left>=n.left-1&&e.right<=n.right+1&&e.top>=n.top-1&&e.bottom<=n.bottom+1;function k(e){let n=e.startsWith("color("),[s,t,a,o=1]=e.match(/-?[\d.]+(e-?\d+)?/g).map(Number);if(o===0)return null;let r=l=>Math.max(0,Math.min(255,Math.round(n?l*255:l))).toString(16).padStart(2,"0");return`#${r(s)}${r(t)}${r(a)}`}var F=e=>e.replace(/[\p{Cc}\ufffe\uffff]/gu," ").replace(/[&<>"']/g,n=>`&#${n.charCodeAt(0)};`);function S(e){let n=new TextEncoder().encode(JSON.stringify({version:1,...e}));return btoa(Array.from(n,s=>String.fromCharCode(s)).join("")).replaceAll("+","-").replaceAll("/","_").replaceAll("=","")}function v(e){try{if(e.length>3e4)return null;let n=atob(e.replaceAll("-","+").replaceAll("_","/")),s=Uint8Array.from(n,a=>a.charCodeAt(0)),t=JSON.parse(new TextDecoder("utf-8",{fatal:!0}).decode(s));return ie(t)?t:null}catch{return null}}var N=e=>Number.isSafeInteger(e)&&e>=0,$=e=>typeof e=="string",T=e=>n=>Array.isArray(n)&&n.every(e),W=T(N);function ie(e){let{version:n,player:s,program:t,step:a,folded:o,cell:r,comparing:l,edits:c,breaks:d}=e??{};return n===1&&[s,a].every(N)&&$(t)&&[o,d].every(T($))&&typeof l=="boolean"&&Array.isArray(r)&&(r[0]==="output"||N(r[0]))&&W(r[1])&&T(i=>Array.isArray(i)&&$(i[0])&&W(i[1])&&["number","boolean"].includes(typeof i[2]))(c)}function A({tensors:e,steps:n,breaks:s=[]}){let t=r=>r&&[r.shape,...r.data],a=[e.map(({name:r,axes:l,vocabulary:c,value:d})=>[r,l,c,t(d)]),s.map(({name:r,edits:l})=>[r,l.map(({value:c,...d})=>[d,t(c)])]),n.map(({op:r,inputs:l,output:c,attributes:d})=>[r,l,c,d])],o=2166136261;for(let r of new TextEncoder().encode(JSON.stringify(a)))o=Math.imul(o^r,16777619)>>>0;return o.toString(36)}function B({view:e,base:n,rowCount:s,columnCount:t}){let{tensor:a,words:o,rowAxis:r,columnAxis:l}=e,c=p=>Number.isNaN(p)?"?":o?o[p]:a.dtype==="bool"?p===1:p,d=[...r?[`${r.name} × ${l.name}`]:[],...l?.labels??["value"]],i=Array.from({length:s},(p,u)=>[...r?[r.labels[u]]:[],...Array.from({length:t},(f,x)=>c(a.data[n+u*t+x]))]);return[d,...i].map(p=>`${p.map(pe).join(",")}\r
`).join("")}function pe(e){return typeof e!="string"?typeof e=="boolean"?String(e).toUpperCase():String(e):`"${(/^[=+\-@\t\r]/.test(e)?`'${e}`:e).replaceAll('"','""')}"`}var de={link:"Copy link",link_hint:"An address that opens this page with this step, cell, edits and switches",numpy:"Copy as NumPy",numpy_hint:"A Python program that computes these numbers and needs NumPy alone",embed:"Copy to embed",embed_hint:"HTML that shows this player on another page: one script, one element",svg:"Save picture (SVG)",svg_hint:"The step as it is on show",csv:"Save matrix (CSV)",csv_hint:"The matrix with the chosen cell, with labels and all decimals",copied:"Copied. It also stands below.",copy_it:"The browser does not let a page copy here: copy the text below.",saved:"Saved as {file}.",text:"What was copied",too_long:"There are too many edits for a link. Undo some, or copy the state as NumPy.",link_damaged:"The link to this page is damaged or from another version of this book, so nothing was changed.",link_older:"The link to this page was made with other numbers in this example: its edits are applied to those of today.",link_misfit:"The link to this page does not fit this example any more, so nothing was changed."},h=E("share",de);var O="#stepformer=",ce=document.currentScript?.src||document.baseURI;function ue(e,n=C().includes(e.host)){let s=g("span",{role:"status"}),t=g("textarea.written",{readonly:!0,hidden:!0,"aria-label":h("text"),spellcheck:"false"}),a=async i=>{if(j(t,"hidden",i===null),i===null)return h("too_long");t.value=i;try{return await navigator.clipboard.writeText(i),h("copied")}catch{return t.focus(),t.select(),h("copy_it")}},o=(i,p,u)=>{let f=URL.createObjectURL(new Blob([u],{type:p}));return g("a",{href:f,download:i}).click(),URL.revokeObjectURL(f),h("saved",{file:i})},{session:r}=e,l=i=>`${r.program.tensors[e.scene.chosenId].name.replace(/[^\p{L}\p{N}.-]+/gu,"_")}.${i}`,c={...n&&{link:()=>a(J(e))},numpy:()=>a(L(r)),...n&&{embed:()=>a(fe(e))},svg:()=>o(l("svg"),"image/svg+xml",P(e.equation)),csv:()=>o(l("csv"),"text/csv",B(e.matrix))},d=Object.entries(c).map(([i,p])=>{let u=async()=>s.replaceChildren(await p());return g("button.text",{type:"button",title:h(`${i}_hint`),on:{click:u}},h(i))});return g("div",{},g("div.tools",{},...d,s),t)}var C=()=>[...document.querySelectorAll("stepformer-player")];function V(e){let{host:n,session:s,step:t,folded:a,cell:o,comparing:r,edits:l,breaks:c}=e;return{player:C().indexOf(n),program:A(s.program),step:t,folded:a,cell:o,comparing:r,edits:l,breaks:c}}function J(e){let n=S(V(e));return n.length>3e4?null:`${location.href.split("#")[0]}${O}${n}`}function fe(e){let n=e.host.querySelector('script[type="application/json"]').textContent.replaceAll("<","\\u003c");return`<script defer src="${new URL("stepformer.js",ce)}"><\/script>
<stepformer-player data-state="${S(V(e))}"><script type="application/json">${n}<\/script></stepformer-player>
`}async function he(){let e=C();for(let t of e)!t.dataset.state||!t.player||(G(t.player,v(t.dataset.state)),delete t.dataset.state);if(!location.hash.startsWith(O))return;let n=v(location.hash.slice(O.length)),s=e[n?.player]??e.find(({player:t})=>t);await s?.load().catch(()=>{}),s?.player&&(G(s.player,s===e[n?.player]?n:null),s.scrollIntoView())}function G(e,n){let s={edits:e.edits,breaks:e.breaks,step:e.step},{folded:t}=e;if(!n)return e.notify(h("link_damaged"));try{if(e.fold(n.folded),!e.restore(n))throw new Error;let[a,o]=n.cell;e.look(o,a),e.compare(n.comparing)}catch{return e.restore(s),e.fold(t),e.notify(h("link_misfit"))}return n.program===A(e.session.program)||e.notify(h("link_older"))}globalThis.stepformerData("share",q);})();
