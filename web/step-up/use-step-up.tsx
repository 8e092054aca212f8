import { useRef, useState } from 'preact/hooks'
import type { Answer } from '#client/client.js'
import type { ProofMethod } from '#contract/factors.js'
import { Button } from '../components/button.js'
import { Dialog } from '../components/dialog.js'
import { useWords } from '../hooks/settings.js'
import { StepUpForm } from './step-up-form.js'

/** Makes a call. If it is refused because it needs a fresh sign-in, asks the user for a proof and makes the call again. */
export type WithFreshSignIn = <Value>(call: () => Promise<Answer<Value>>) => Promise<Answer<Value>>

type StepUp = { methods: readonly ProofMethod[]; close: (isProven: boolean) => void }

/**
 * One dialog for all changes of a page that need a fresh sign-in. Several calls at once wait for the same dialog. After
 * "cancel" the refusal is returned.
 */
export const useStepUp = () => {
  const [stepUp, setStepUp] = useState<StepUp>()
  const asking = useRef<Promise<boolean> | undefined>(undefined)

  const ask = (methods: readonly ProofMethod[]) => {
    asking.current ??= new Promise<boolean>((resolve) => {
      const close = (isProven: boolean) => {
        asking.current = undefined
        setStepUp(undefined)
        resolve(isProven)
      }
      setStepUp({ methods, close })
    })
    return asking.current
  }

  const withFreshSignIn: WithFreshSignIn = async (call) => {
    const first = await call()
    if (first.refused !== 'fresh_sign_in_required') return first
    return (await ask(first.methods ?? [])) ? call() : first
  }

  return { stepUp, withFreshSignIn }
}

type Props = StepUp & { username: string; onSignedOut: () => void }

export const StepUpDialog = ({ methods, close: closeStepUp, username, onSignedOut }: Props) => {
  const words = useWords('step-up')
  return (
    <Dialog title={words.heading} lead={<p>{words.leadChange}</p>} onCancel={() => closeStepUp(false)}>
      {(close) => {
        const finish = (isProven: boolean) => {
          close()
          closeStepUp(isProven)
        }
        return (
          <>
            <StepUpForm methods={methods} username={username} onProven={() => finish(true)} onSignedOut={onSignedOut} />
            <Button look="quiet" onPress={() => finish(false)}>
              {words.cancel}
            </Button>
          </>
        )
      }}
    </Dialog>
  )
}
