import type { Answer, PasskeyCredential, PasskeyRequestOptions, Refusal } from '#client/client.js'
import { Button, staysBusy } from '../components/button.js'
import { KeyIcon } from '../components/icons.js'
import { Notice, useMessage } from '../components/notice.js'
import { useWords } from '../hooks/settings.js'
import { useRefusalSentence } from '../words/refusals.js'
import { getPasskey, passkeySupport } from './ceremonies.js'

type Props = {
  look?: 'primary' | 'plain'
  loadOptions: () => Promise<Answer<PasskeyRequestOptions>>
  /** Returns the refusal, or nothing if the passkey was accepted. */
  prove: (credential: PasskeyCredential) => Promise<Refusal | undefined>
  onAsk?: (isAsking: boolean) => void
}

/** Asks the browser for a passkey. The button is not shown where passkeys do not work. */
export const PasskeyButton = ({ look = 'plain', loadOptions, prove, onAsk }: Props) => {
  const words = useWords('passkeys')
  const sentenceOf = useRefusalSentence()
  const { message: problem, setMessage: setProblem } = useMessage<{ kind: 'error' | 'info'; text: string }>()
  if (passkeySupport() !== 'yes') return null

  const ask = async () => {
    const requestOptions = await loadOptions()
    if (requestOptions.refused) return { kind: 'error' as const, text: sentenceOf(requestOptions) }
    const credential = await getPasskey(requestOptions.value)
    if (credential === 'address') return { kind: 'error' as const, text: words.wrongAddress }
    if (typeof credential === 'string') return { kind: 'info' as const, text: words.noneChosen }
    const refusal = await prove(credential)
    return refusal && { kind: 'error' as const, text: sentenceOf(refusal) }
  }
  const press = async () => {
    onAsk?.(true)
    setProblem(undefined)
    const newProblem = await ask()
    if (!newProblem) return staysBusy
    setProblem(newProblem)
    return onAsk?.(false)
  }

  return (
    <>
      {problem && <Notice kind={problem.kind}>{problem.text}</Notice>}
      <Button look={look} onPress={press}>
        <KeyIcon /> {words.use}
      </Button>
    </>
  )
}
