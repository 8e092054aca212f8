import { useRef, useState } from 'preact/hooks'
import type { Answer } from '#client/client.js'
import type { ProofMethod } from '#contract/proofs.js'
import { Button } from '../components/button.js'
import { Dialog } from '../components/dialog.js'
import { useWords } from '../hooks/settings.js'
import { StepUpForm } from './step-up-form.js'

/** Makes a call, and makes it again after the user has proven who they are, if it was refused for the lack of that. */
export type WithFreshSignIn = <Value>(call: () => Promise<Answer<Value>>) => Promise<Answer<Value>>

type StepUp = { methods: readonly ProofMethod[]; done: (proven: boolean) => void }

/**
 * One dialog for all changes of a page that need a fresh sign-in. Several calls at once wait for the same dialog. After
 * "cancel" the refusal is returned.
 */
export const useStepUp = () => {
  const [stepUp, setStepUp] = useState<StepUp>()
  const asking = useRef<Promise<boolean> | undefined>(undefined)

  const ask = (methods: readonly ProofMethod[]) => {
    asking.current ??= new Promise<boolean>((resolve) => {
      const done = (proven: boolean) => {
        asking.current = undefined
        setStepUp(undefined)
        resolve(proven)
      }
      setStepUp({ methods, done })
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

export const StepUpDialog = ({ methods, done, username, onSignedOut }: Props) => {
  const words = useWords('step-up')
  return (
    <Dialog title={words.heading} lead={<p>{words.leadChange}</p>} onCancel={() => done(false)}>
      {(close) => {
        const finish = (proven: boolean) => {
          close()
          done(proven)
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
