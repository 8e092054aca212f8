import type { ComponentChildren } from 'preact'
import type { Refusal } from '#client/client.js'
import { TryAgain } from '../components/button.js'
import { Heading } from '../components/heading.js'
import { Loading, Notice } from '../components/notice.js'
import { useWords } from '../hooks/settings.js'
import { useRefusalSentence } from '../words/refusals.js'
import { useAdmin } from './admin-context.js'

type Props = {
  title: string
  lead?: string
  /** The link back to the list. */
  above?: ComponentChildren
  beside?: ComponentChildren
  children: ComponentChildren
}

/** One screen. If the user came by a link, the heading gets the focus, and a screen reader begins there. */
export const Screen = ({ title, lead, above, beside, children }: Props) => (
  <>
    {above !== undefined && <p class="way-back">{above}</p>}
    <div class="page-title">
      <div>
        <Heading text={title} focused={useAdmin().hasNavigated} />
        {lead !== undefined && <p class="panel-lead">{lead}</p>}
      </div>
      {beside}
    </div>
    {children}
  </>
)

type NotLoadedProps = { refusal: Refusal; onTryAgain: () => Promise<void> }

/** Stands in the place of a part that could not be loaded. */
const NotLoaded = ({ refusal, onTryAgain }: NotLoadedProps) => {
  const words = useWords('admin')
  const sentenceOf = useRefusalSentence()
  if (refusal.refused === 'not_found') return <Notice kind="error">{words.gone}</Notice>
  if (refusal.refused === 'bad_request') return <Notice kind="error">{sentenceOf(refusal)}</Notice>
  return (
    <div class="not-loaded">
      <Notice kind="error">{`${words.notLoaded} ${sentenceOf(refusal)}`}</Notice>
      <TryAgain onPress={onTryAgain} />
    </div>
  )
}

type LoadedProps<Value> = {
  value: Value | undefined
  refusal: Refusal | undefined
  reload: () => Promise<void>
  children: (value: Value) => ComponentChildren
}

/** Shows the loaded value, or why it is not there. */
export const Loaded = <Value,>({ value, refusal, reload, children }: LoadedProps<Value>) => {
  const { loading } = useWords('admin')
  if (refusal) return <NotLoaded refusal={refusal} onTryAgain={reload} />
  return <>{value === undefined ? <Loading text={loading} /> : children(value)}</>
}
