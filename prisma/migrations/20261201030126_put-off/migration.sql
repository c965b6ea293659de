-- AlterTable
ALTER TABLE "data_run" ADD COLUMN     "fruitless_passes" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "put_off_until" TIMESTAMPTZ(3);
