import type { Lane } from '../api/answers.js'

/** How full a lane is, as a bar with its numbers beside it. A lane without a limit has no end to be full to. */
export function SlotBar({ lane: { in_use, slots }, running }: { lane: Lane; running: number }) {
  return (
    <span className="slot-bar">
      {slots !== null && (
        <meter min={0} max={slots} value={Math.min(in_use, slots)} aria-label={`${in_use} of ${slots} slots in use`} />
      )}
      {slots === null ? `${running} in use, no limit` : `${in_use} of ${slots}`}
    </span>
  )
}
