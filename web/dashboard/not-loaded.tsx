import { isTemporary, type Refusal } from '#client/client.js'
import { Notice } from '../components/notice.js'
import { SignOutButton } from '../components/sign-out-button.js'
import { TryAgain } from '../components/try-again.js'
import { useWords } from '../hooks/settings.js'
import { useRefusalSentence } from '../words/refusals.js'
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

type NotLoadedProps = { place: PanelName; title: string; onTryAgain: () => Promise<void> }

/** Shown in the place of a panel whose data could not be loaded, while other panels have theirs. */
export const PanelNotLoaded = ({ onTryAgain, ...panel }: NotLoadedProps) => (
  <AccountPanel {...panel}>
    <Notice kind="error">{useWords('dashboard').partNotLoaded}</Notice>
    <TryAgain onPress={onTryAgain} />
  </AccountPanel>
)
