import { useState } from 'preact/hooks'
import type { PasskeyCredential } from '#client/client.js'
import { client } from '../browser/client.js'
import { Notice, useMessage } from '../components/notice.js'
import { useRefusalSentence } from '../words/refusals.js'
import { usePasskeysInAutofill } from './autofill.js'
import { PasskeyButton } from './passkey-button.js'

/** Offers passkeys in the field of the username, and by a button. A browser can do only one of the two at a time. */
export const PasskeySignIn = ({ onSignedIn }: { onSignedIn: (answered: object) => void }) => {
  const sentenceOf = useRefusalSentence()
  const [isAsking, setAsking] = useState(false)
  const { message: problem, setMessage: setProblem } = useMessage<string>()
  const signIn = async (credential: PasskeyCredential) => {
    const answer = await client.passkeyLogin({ credential })
    if (answer.refused) return answer
    onSignedIn(answer.value)
    return undefined
  }
  usePasskeysInAutofill(!isAsking, async (credential) => {
    const refusal = await signIn(credential)
    setProblem(refusal && sentenceOf(refusal))
    return refusal === undefined
  })
  const ask = (asking: boolean) => {
    setAsking(asking)
    setProblem(undefined)
  }
  return (
    <div class="other-way">
      {problem !== undefined && <Notice kind="error">{problem}</Notice>}
      <PasskeyButton loadOptions={client.passkeyLoginOptions} prove={signIn} onAsk={ask} />
    </div>
  )
}
