import type { ComponentChildren } from 'preact'
import { isTemporary, type Refusal } from '#client/client.js'
import { TryAgain } from '../components/button.js'
import { Notice } from '../components/notice.js'
import { SignOutButton } from '../components/sign-out.js'
import { useWords } from '../hooks/settings.js'
import { useRefusalSentence } from '../words/refusals.js'
import { useDashboardActions } from './dashboard-actions.js'
import type { PanelName } from './places.js'
import { AccountPanel } from './section.js'

/** Shown if the whole account could not be loaded: why, and what the user can do meanwhile. */
export const NotLoaded = ({ refusal, onTryAgain }: { refusal: Refusal; onTryAgain: () => Promise<void> }) => {
  const words = useWords('dashboard')
  const sentenceOf = useRefusalSentence()
  const sentence = isTemporary(refusal) ? words.reconnecting : sentenceOf(refusal)
  return (
    <section class="panel not-loaded">
      <h1>{words.title}</h1>
      <Notice kind="error">{sentence}</Notice>
      <div class="button-row">
        <TryAgain onPress={onTryAgain} />
        <SignOutButton />
      </div>
    </section>
  )
}

type LoadedProps<Part> = {
  part: Part | undefined
  place: PanelName
  title: string
  children: (part: Part) => ComponentChildren
}

/** A panel. If its part of the account could not be loaded, while others could, its title and a notice stand in its place. */
export const Loaded = <Part,>({ part, children, ...panel }: LoadedProps<Part>) => {
  const { partNotLoaded } = useWords('dashboard')
  const { reload } = useDashboardActions()
  if (part !== undefined) return <>{children(part)}</>
  return (
    <AccountPanel {...panel}>
      <Notice kind="error">{partNotLoaded}</Notice>
      <TryAgain onPress={reload} />
    </AccountPanel>
  )
}
